# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Metadata I/O by itself: commits, checkpoints, stop and activation, resize, damage, write errors at
# every point, power cuts.  tests/vm/mdtest drives it and compares with a model.
# vmtap: timeout=1200

# shellcheck source=../lib.sh
. "${0%/*}/../lib.sh"

MDTEST=$TIER_TOP/tests/vm/mdtest
MODULE=$TIER_BUILD/mdtest/tier-mdtest.ko
[ -e "$MODULE" ] || fail_case "no tier-mdtest.ko: tests/vm/mdtest/build.sh makes it"
lib_insmod "$MODULE" || fail_case "tier-mdtest.ko does not load"

# Sizes in sectors that the metadata are for: blocks of 64 KiB, a good 5000 slots, then others.
BLOCK=128 SLOW=40000000
FAST=650000 FAST_LARGE=4200000 FAST_SMALL=400000

# target META FAST [TIER...]	the driver on these devices
target()
{
	[ ! -b /dev/mapper/md ] || dmsetup remove --retry md
	dmsetup create md --table "0 8 tier-mdtest $*"
}

# m MESSAGE...		what the driver answers, or "error: ..."
m()
{
	local out

	out=$(dmsetup message md 0 "$@" 2>&1) || { out=${out#*failed: }; out="error: ${out%%$'\n'*}"; }
	printf '%s\n' "$out"
}

# says WANT MESSAGE...		the answer is that
says()
{
	local want=$1

	shift
	is "$(m "$@")" "$want" "$*"
}

# info KEY
info()
{
	local out

	out=" $(m info) "
	out=${out#* "$1" }
	echo "${out%% *}"
}

# format [FAST [JOURNAL [SEED]]]
format() { m format "$BLOCK" "${1:-$FAST}" $SLOW "${2:-16}" "${3:-1}" >/dev/null; }

EIO="error: Input/output error"
DAMAGED="error: Invalid or incomplete multibyte or wide character"

# How much of it: TIER_LONG=1 in the host's environment for all
if [ -n "${TIER_LONG:-}" ]; then
	JOURNALS="16 64 300" SINGLY=20 STEP=29 DAMAGE_STEP=1 CUTS=60 SEEDS="1 2"
else
	JOURNALS="16 300" SINGLY=6 STEP=61 DAMAGE_STEP=9 CUTS=15 SEEDS=1
fi

new_dev base 8
new_dev fast 8
dmsetup create meta --table "0 $(blockdev --getsz /dev/mapper/base) tier-mdtest-dev /dev/mapper/base"
META=/dev/mapper/meta
target $META /dev/mapper/fast

# --- What is on the device
says "error: No such file or directory" info
m model 1 10 >/dev/null
says "error: No data available" open
like "$(klog)" "not formatted" "blank"
dd if=/dev/urandom of=$META bs=4k count=32 oflag=direct status=none
klog_mark
says "error: No data available" open
like "$(klog)" "holds something else" "foreign"
format
dmsetup create short --table "0 800 linear $META 0"
target /dev/mapper/short /dev/mapper/fast
klog_mark
says "error: No space left on device" open
like "$(klog)" "truncated" "truncated"
target $META /dev/mapper/fast
dmsetup remove short

# --- Lives
for journal in $JOURNALS; do
	format "$FAST" "$journal" "$journal"
	says "txn 0" open
	says good check_dev 0
	says "" activate
	says "txn 2000" run 2000
	[ "$journal" = 300 ] || ok "there were checkpoints" test "$(info checkpoints)" -gt 5
	says "" close
	says "txn 2000" open
	says "" activate
	says "txn 2020" run 20
	says "error: Device or resource busy" stop lru
	says "txn 2050" align
	says "" mode 2
	says "" stop lru
	is "$(info clean)$(info mode)$(info used)" "120/$journal" "clean, mode, journal"
	says 1 unchanged
	says "" activate
	says "txn 2053" run 3
	says "txn 2100" align
	says "" stop lru
	says "" close
	like "$(m open lru)" "^txn 2100, ([0-9]+) hints of \1$" "hints"
	says "" close
	like "$(m open hotspot)" "^txn 2100, 0 hints" "hints of another policy"
	says "" activate
	says "" close
	like "$(m open lru)" "^txn 2100, 0 hints" "hints after an unclean stop"
	says "" close
done

# --- Resize
format
m open >/dev/null
m activate >/dev/null
says "txn 500" run 500
m close >/dev/null
says "txn 500" open
says "32796 slots" resize $FAST_LARGE $SLOW
says "" close
says "txn 500" open
says "" activate
says "txn 1100" run 600
says "" close
says "txn 1100" open
says "3109 slots" resize $FAST_SMALL $SLOW
says "" close
says "txn 1100" open
says "32796 slots" resize $FAST_LARGE $SLOW
says "" close
says "txn 1100" open
says "" activate
says "txn 1150" run 50
says "" stop lru
says "3109 slots" resize $FAST_SMALL $SLOW
says "" activate
says "txn 1200" run 50
says "" close
says "txn 1200" open
says "error: No space left on device" resize 200000000 $SLOW
is "$(info failed)" 0 "a resize that does not fit is no failure"
says "" close

# --- Generations
format
m open >/dev/null
says "" activate nofast
says "" close
m open >/dev/null
like "$(m check_dev 0)" "^-116 .*stale" "a fast device that was left out is stale"
says "" close
dmsetup create fast1 --table "0 $(blockdev --getsz /dev/mapper/fast) tier-mdtest-dev /dev/mapper/fast"
target $META /dev/mapper/fast1
format
m open >/dev/null
for _ in 1 2 3; do
	dmsetup message fast1 0 fail 1
	says "$EIO" activate
	is "$(info failed)" 0 "a fast device that fails is no failure of the metadata"
	says "" close
	m open >/dev/null
	says good check_dev 0
done
says "" activate
is "$(info generation)" 2 "cut short, then done: one generation"
dmsetup message fast1 0 fail 0
says "" close
m open >/dev/null
says good check_dev 0
dmsetup message fast1 0 fail 1
m activate >/dev/null
says "" activate nofast
says "" close
m open >/dev/null
like "$(m check_dev 0)" "^-116 .*stale" "cut short, then without it"
says "" close
dd if=/dev/zero of=/dev/mapper/fast1 bs=4k count=1 oflag=direct status=none
m open >/dev/null
like "$(m check_dev 0)" "^-61 .*not formatted" "blank fast device"
says "" close
target $META /dev/mapper/fast
dmsetup remove fast1

# --- Tiers
new_dev tier0 8
new_dev tier1 16
new_dev tier2 12
new_dev tier3 8
T=/dev/mapper/tier
target $META ${T}0 ${T}1 ${T}2
says "544 slots" tiered 128 16 1
says "txn 0" open
is "$(m check_dev 0)$(m check_dev 1)$(m check_dev 2)" goodgoodgood "tiers: all are there"
is "$(m find_dev 0)$(m find_dev 1)$(m find_dev 2)" 012 "tiers: found"
says "-19 device is another tier, or none" check_dev 0 1
says "-22 there is no such device with slots" check_dev 3 0
says "error: No such device" activate nofast
says "" activate
says "txn 300" run 300
says "" flags 0 2
says "error: Invalid argument" mode 0
says "" close
says "txn 300" open
is "$(info flags)" 2,0,1 "flags of tiers"
says "" activate
says "" flags 0 0
says "txn 350" run 50
says "" stop lru
says "" close

# in another order
target $META ${T}1 ${T}0 ${T}2
like "$(m open lru)" "^txn 350, ([0-9]+) hints of \1$" "hints of tiers"
is "$(m find_dev 0)$(m find_dev 1)$(m find_dev 2)" 102 "tiers in another order are found"
says "544 slots in 3 pieces" change 1 0 2
says "" close
says "txn 350" open
is "$(m find_dev 0)$(m find_dev 1)$(m find_dev 2)" 012 "and are at their new places"
is "$(m check_dev 0)$(m check_dev 1)$(m check_dev 2)" goodgoodgood "and up to date, also before the next activation"
says "" activate
says "txn 400" run 50
says "" stop lru
says "" close

# the one without header, written to
dd if=${T}2 of="$WORK/head" bs=4k count=1 iflag=direct status=none
dd if=/dev/urandom of=${T}2 bs=4k count=1 oflag=direct status=none
says "txn 400" open
like "$(m check_dev 2)" "^-116 .*written to since" "a tier without header that was written to"
like "$(m find_dev 2)" "^-116 .*something else" "and it is not found, but may be it"
dd if="$WORK/head" of=${T}2 bs=4k count=1 oflag=direct status=none
says good check_dev 2
says 2 find_dev 2
dd if=${T}1 of="$WORK/head" bs=4k count=1 iflag=direct status=none
says "" activate
dd if=/dev/urandom of=${T}2 bs=4k count=1 oflag=direct status=none
says "" close
says "txn 400" open
says good check_dev 2
dd if="$WORK/head" of=${T}1 bs=4k count=1 oflag=direct status=none
like "$(m check_dev 0)" "^-116 .*stale" "a tier with an old header is stale"
says 0 find_dev 0
says "" close

# activations cut short
dmsetup create tier1f --table "0 $(blockdev --getsz ${T}0) tier-mdtest-dev ${T}0"
target $META ${T}3 ${T}1f ${T}2
says "416 slots" tiered 128 16 2
says "txn 0" open
generation=$(info generation)
for _ in 1 2; do
	dmsetup message tier1f 0 fail 1
	says "$EIO" activate
	says "" close
	says "txn 0" open
	is "$(m check_dev 0)$(m check_dev 1)" goodgood "cut short between the tiers: both count"
done
says "" activate
is "$(info generation)" $((generation + 1)) "cut short twice, then done: one generation"
says "" close
target $META ${T}3 ${T}0 ${T}2
dmsetup remove tier1f

# one more, and one less
dd if=/dev/zero of=${T}1 bs=4k count=1 oflag=direct status=none
target $META ${T}3 ${T}1 ${T}0 ${T}2
says "txn 0" open
like "$(m find_dev 1)" "^-61 .*not formatted" "a blank device is none of them"
says "656 slots in 4 pieces" change 0 - 1 2
says "" close
says "txn 0" open
is "$(m check_dev 0)$(m check_dev 1)$(m check_dev 2)$(m check_dev 3)" goodgoodgoodgood "a tier more"
says "" close
target $META ${T}1 ${T}3 ${T}2
says "txn 0" open
says "656 slots in 4 pieces" change 1 0 3
says "" activate
says "txn 500" run 500
says "" close
says "txn 500" open
is "$(m check_dev 0)$(m check_dev 1)$(m check_dev 2)" goodgoodgood "a tier less, and in another order"
says "" close
target $META ${T}1 ${T}3 ${T}2 ${T}0
says "txn 500" open
like "$(m find_dev 3)" "^-2 .*any more" "the one that was taken out is known no more"
says "" close
target $META /dev/mapper/fast
for i in 0 1 2 3; do drop_dev tier$i; done

# --- Fingerprint
before=$(m fingerprint 1)
is "$(m fingerprint 1)" "$before" "fingerprint: the same again"
isnt "$(m fingerprint 2)" "" "fingerprint: another seed"
dd if=/dev/urandom of=/dev/mapper/fast bs=4k seek=15 count=1 oflag=direct status=none
isnt "$(m fingerprint 1)" "$before" "fingerprint: the head was written to"
for sectors in 1 7 8 9 200; do
	dmsetup create tiny --table "0 $sectors linear /dev/mapper/fast 0"
	target $META /dev/mapper/tiny
	like "$(m fingerprint 1)" "^$sectors [0-9a-f]{8} [0-9a-f]{8}$" "fingerprint of $sectors sectors"
	target $META /dev/mapper/fast
	dmsetup remove tiny
done

# --- Failing writes
# The n-th write or flush fails, for every n that a life of 50 transactions and a stop has.
life() { m open; m activate; m run 31; m align; m stop lru; }
n=1 bad='' again='' done=''
while [ -z "$done" ] && [ $n -lt 2000 ]; do
	format 100000 16 $n
	dmsetup message meta 0 fail $n
	life >"$WORK/life"
	[ "$(dmsetup message meta 0 left)" = 0 ] || done=1
	dmsetup message meta 0 fail 0
	acked=$(info commits)
	state=$(info failed)$(info needs_check)$(info clean)
	[ -n "$done" ] || again=$(m run 1)
	m close >/dev/null
	txn=$(m open)
	needs_check=$(info needs_check)
	m close >/dev/null
	if [ -n "$done" ]; then
		[ "$state" = 001 ] || bad+=" $n:clean"
	else
		[ "$state" = 110 ] || bad+=" $n:state=$state"
		[ "$needs_check" = 1 ] || bad+=" $n:needs_check"
		[ "$again" = "$EIO" ] || bad+=" $n:again=$again"
		[ "$txn" = "txn $acked" ] || [ "$txn" = "txn $((acked + 1))" ] || bad+=" $n:$txn"
	fi
	n=$((n < SINGLY ? n + 1 : n + STEP))
done
is "$bad" "" "write or flush number n fails, n up to $n"
ok "until none was left to fail" test -n "$done"

# All fail, also needs_check.
format
m open >/dev/null
m activate >/dev/null
m run 20 >/dev/null
dmsetup message meta 0 fail 1 1000000
says "$EIO" run 1
says "$EIO" checkpoint
says "$EIO" stop lru
is "$(info failed)$(info needs_check)" 10 "failed, and cannot say so on the disk"
dmsetup message meta 0 fail 0
says "$EIO" run 1
says "" close
like "$(m open)" "^txn 2[01]$" "after all writes failed"
says "" activate
says "" close

# needs_check stays
dmsetup message meta 0 fail 0
m open >/dev/null
m activate >/dev/null
dmsetup message meta 0 fail 1
says "$EIO" run 1
says "" close
m open >/dev/null
is "$(info needs_check)" 1 "needs_check"
says "$EIO" activate
says "" close

# --- The journal damaged after a clean stop
# The start writes it anew.  Its n-th write or flush fails, for every n: nothing is lost, and the numbers go on.
format 100000
m open >/dev/null
m activate >/dev/null
says "txn 200" run 200
says "" stop lru
says "" close
dd if=$META of="$WORK/image" bs=1M iflag=direct status=none
n=1 bad='' done=''
while [ -z "$done" ] && [ $n -lt 100 ]; do
	dd if="$WORK/image" of=$META bs=1M oflag=direct status=none
	dd if=/dev/zero of=$META bs=4k seek=24 count=1 oflag=direct status=none
	[ "$(m open)" = "txn 200" ] || bad+=" $n:open"
	dmsetup message meta 0 fail $n
	active=$(m activate)
	[ "$(dmsetup message meta 0 left)" = 0 ] || done=1
	dmsetup message meta 0 fail 0
	if [ -z "$done" ]; then
		[ "$active" = "$EIO" ] || bad+=" $n:activate=$active"
		m close >/dev/null
		[ "$(m open)" = "txn 200" ] || bad+=" $n:again"
		[ "$(info needs_check)" = 1 ] || bad+=" $n:needs_check"
		m close >/dev/null
		n=$((n + 1))
	fi
done
is "$bad" "" "journal damaged after a clean stop: write or flush number n of the start fails, n up to $n"
ok "until none was left to fail" test -n "$done"
says "txn 230" run 30
says "" close
says "txn 230" open
says "" close

# --- Damage
format
m open >/dev/null
m activate >/dev/null
m run 200 >/dev/null
m close >/dev/null
blockdev --flushbufs $META
dd if=$META of="$WORK/image" bs=1M iflag=direct status=none
new_dev copy 8
target /dev/mapper/copy /dev/mapper/fast
ok "each block damaged in turn" python3 "$MDTEST/crash.py" damage "$WORK/image" /dev/mapper/copy md "$DAMAGE_STEP"
# one copy damaged, repaired, the other one damaged
slot_start=$((17 + 2 + 16))
hurt() { dd if=/dev/urandom of=/dev/mapper/copy bs=4k seek="$1" count=1 oflag=direct status=none; }
dd if="$WORK/image" of=/dev/mapper/copy bs=1M oflag=direct status=none
hurt 17
hurt $((slot_start + 3))
hurt $((slot_start + 64 + 4))
says "txn 200" open
says "" activate
repaired() { [ "$(info checkpoints)" -ge 1 ]; }
ok "a checkpoint by itself" wait_until 20 repaired
says "" close
hurt 18
hurt $((slot_start + 64 + 3))
hurt $((slot_start + 4))
says "txn 200" verify
klog_mark
hurt $((slot_start + 3))
says "$DAMAGED" verify
like "$(klog)" "both copies of slot page 3 are bad" "the page is named"

# --- Power cuts
mark() { dmsetup message logged 0 mark "${1// /-}"; }
drop_log() { dmsetup remove --retry md && dmsetup remove --retry logged; }
modprobe dm-log-writes || fail_case "no dm-log-writes"
for seed in $SEEDS; do
	[ ! -b /dev/mapper/log ] || drop_dev log
	new_dev log 200
	dmsetup create logged --table "0 $(blockdev --getsz $META) log-writes $META /dev/mapper/log"
	target /dev/mapper/logged /dev/mapper/fast
	format 300000 16 "$seed"
	mark formatted
	for part in 1 2 3; do
		m open >/dev/null
		m activate >/dev/null
		for run in 11 12 13 14; do
			mark "$(m run $run)"
		done
		mark "$(m align)"
		[ $part = 2 ] || m stop lru >/dev/null
		m close >/dev/null
	done
	drop_log
	target /dev/mapper/copy /dev/mapper/fast
	m model "$seed" "$(((300000 - 2048) / BLOCK))" >/dev/null
	python3 "$MDTEST/crash.py" cuts /dev/mapper/log /dev/mapper/copy md "$seed" "$CUTS" >"$WORK/cuts"
	rc=$?
	is $rc 0 "power cuts, seed $seed"
	diag <"$WORK/cuts"
done

dmsetup remove --retry md
dmsetup remove --retry meta
ok "unload" rmmod tier_mdtest
done_testing
