# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=600
# Policies: switching under load, modules that are missing or in use, the sequential filter, hints.
# shellcheck source=../lib.sh
. "${0%/*}/../lib.sh"
# shellcheck source=ctl-lib.sh
. "${0%/*}/ctl-lib.sh"
load_modules lru clock2q seqbypass
rmmod dm_tier_hotspot 2>/dev/null	# an earlier case may have loaded it
setup_devs 16 64 4
T=/dev/mapper/t0
table() { echo "0 131072 tier $SSD $HDD $META 128 2 idle_ms 3600000 $*"; }
ref() { awk -v m="dm_tier_$1" '$1 == m { print $3 }' /proc/modules; }
ok "format" format_set --block-size 64k
pattern "$WORK/data" 4

# --- a module that is missing -----------------------------------------------------------------

ok "create with lru" dmsetup create t0 --table "$(table lru 0)"
wr $T 0 1024 "$WORK/data"
get_status t0
dirty=${S[dirty]}
stop t0
klog_mark
ok "create with a policy whose module is missing" dmsetup create t0 --table "$(table hotspot 2 hysteresis 3)"
like "$(klog)" "hotspot: module dm-tier-hotspot can't be loaded, the built-in policy is used" "a warning"
read_status "status" t0
is "${S[policy]} ${S[dirty]}" "builtin $dirty" "the built-in policy, as dirty as before"
ok "the data are there" same "$WORK/data" $T 0 1024
refused "but not at run time" "policy .hotspot.: its module dm-tier-hotspot can.t be loaded" msg t0 policy hotspot
ok "random writes to a full cache" rand $T write 3000
ok "the table can be loaded" dmsetup load t0 --table "$(dmsetup table t0)"
ok "and resumed" dmsetup resume t0

# --- modules in use ---------------------------------------------------------------------------

ok "load hotspot" load_modules hotspot
is "$(ref hotspot)" 0 "nobody uses it"
ok "switch to hotspot" msg t0 policy hotspot
isnt "$(ref hotspot)" 0 "it is used"
nok "it can't be unloaded" rmmod dm_tier_hotspot
nok "neither can dm-tier" rmmod dm_tier
ok "switch to clock2q behind seqbypass" msg t0 policy seqbypass next clock2q
refs="$(ref hotspot) $(ref seqbypass) $(ref clock2q)"
like "$refs" "^0 [1-9] [1-9]$" "references follow"
ok "hotspot unloads" rmmod dm_tier_hotspot
nok "clock2q does not" rmmod dm_tier_clock2q
refused "a chain with a bad end" "has no tunable" msg t0 policy seqbypass next lru colour 1
isnt "$(ref clock2q)" 0 "leaves the references"
is "$(ref lru)" 0 "and takes none"
ok "load hotspot again" load_modules hotspot
ok "default is a policy" msg t0 policy default
get_status t0
is "${S[policy]}" clock2q "clock2q"
ok "load and clear a table" dmsetup load t0 --table "$(table hotspot 0)"
dmsetup clear t0
is "$(ref hotspot)" 0 "no reference is left"
ok "remove" stop t0
is "$(ref clock2q) $(ref seqbypass)" "0 0" "nor now"
refused_done

# --- switching under load ---------------------------------------------------------------------

ok "create" dmsetup create t0 --table "$(table lru 0)"
fio --name=v --thread --filename=$T --size=40M --rw=randrw --rwmixread=50 --bsrange=4k-32k --blockalign=4k \
	--ioengine=libaio --iodepth=8 --direct=1 --verify=crc32c --verify_fatal=1 --verify_backlog=64 \
	--time_based --runtime=$((600 * LIB_SLOW)) >"$WORK/load.out" 2>&1 &
load=$!
soon "the load runs" 60 has t0 used -gt 128
for p in clock2q hotspot "seqbypass next lru" "seqbypass read_cutoff_sectors 64 next seqbypass next hotspot" builtin lru \
	default; do
	# shellcheck disable=SC2086
	ok "switch to $p" msg t0 policy $p
	get_status t0
	[ "${S[used]}" -gt 100 ] || fail "the mapping stays: ${S[used]} used"
	sleep 0.5
done
ok "the load goes on" kill -0 $load
kill -INT $load
wait $load
unlike "$(cat "$WORK/load.out")" "verify: bad|error=|err= *[1-9]" "everything it read was right"

# --- seqbypass --------------------------------------------------------------------------------

ok "demote all" msg t0 demote 0 131072
soon "done" 60 has t0 used -eq 0
ok "seqbypass" msg t0 policy seqbypass read_cutoff_sectors 512 write_cutoff_sectors 512 next lru
msg t0 stats reset
dd if=$T of=/dev/null bs=64k count=64 iflag=direct status=none
holds "a sequential read is bypassed" t0 bypass_seq -ge 50
holds "all but its beginning" t0 used -le 10
msg t0 stats reset
dd if=/dev/zero of=$T bs=64k seek=256 count=64 oflag=direct status=none
holds "and a sequential write" t0 bypass_seq -ge 50
holds "nearly all of it" t0 dirty -le 160
msg t0 promote 65536 8192
soon "promote 4 MiB" 60 has t0 state_jobs -eq 0
wait_until 10 has t0 promotions -ge 64
msg t0 stats reset
dd if=$T of=/dev/null bs=64k skip=512 count=64 iflag=direct status=none
get_status t0
is "${S[read_hits]} ${S[bypass_seq]}" "64 0" "resident blocks are served"
msg t0 set read_cutoff_sectors 0
msg t0 stats reset
dd if=$T of=/dev/null bs=64k skip=700 count=32 iflag=direct status=none
ok "stop" stop t0

# --- hints survive a clean restart ------------------------------------------------------------

# The hot 64 blocks are used again and again, then most of the rest is filled by what is used once (not all of it:
# some slots are kept free).  After a restart, what comes new must push out that, not the hot ones.
for p in lru clock2q; do
	format_set --block-size 64k >/dev/null
	ok "create with $p" dmsetup create t0 --table "$(table $p 0)"
	rand $T read 1000 --size=4M
	dd if=$T of=/dev/null bs=64k skip=256 count=150 iflag=direct status=none
	rand $T read 1000 --size=4M
	sleep 1
	stop t0
	ok "create again" dmsetup create t0 --table "$(table $p 0)"
	dd if=$T of=/dev/null bs=64k skip=512 count=128 iflag=direct status=none
	msg t0 stats reset
	rand $T read 200 --size=4M
	get_status t0
	[ "${S[read_misses]}" -le 20 ] || diag "hits ${S[read_hits]}, misses ${S[read_misses]}"
	holds "the hot blocks are still there" t0 read_misses -le 20
	stop t0
done
done_testing
