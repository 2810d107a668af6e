# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=1800
# vmtap: ignore=Call Trace:
# vmtap: disk=nssd:size=12M
# vmtap: disk=nhdd:size=96M
# vmtap: disk=nmeta:size=8M
#
# (The kernel shows where a vmalloc failed, with a call trace; trouble says more than that.)
#
# Allocations fail: each one of the constructor, of loading and stopping, of reloads, messages and status, one
# after the other; then at random under I/O, which must not notice.  Needs a kernel with fault injection.
# shellcheck source=../io-lib.sh
. "${0%/*}/../io-lib.sh"

FAILSLAB=/sys/kernel/debug/failslab
FAILPAGE=/sys/kernel/debug/fail_page_alloc
FAILNTH=${TIER_BUILD%/*}/failnth
if ! [ -e /proc/self/fail-nth ] || ! [ -d $FAILSLAB ]; then
	skip_case "the kernel injects no faults"
fi
[ -x "$FAILNTH" ] || skip_case "no failnth: tests/vm/build-failnth makes it"
load_modules

# whatever may wait or use high memory may fail, single pages too
echo N >$FAILSLAB/ignore-gfp-wait
echo N >$FAILPAGE/ignore-gfp-wait
echo N >$FAILPAGE/ignore-gfp-highmem
echo 0 >$FAILPAGE/min-order
for f in $FAILSLAB $FAILPAGE; do
	echo 0 >"$f/verbose"
	echo 0 >"$f/probability"
	echo -1 >"$f/times"
done

# nth DESCRIPTION STEP...	ALSO=an error number that is right beside ENOMEM
nth()
{
	local desc=$1

	shift
	if "$FAILNTH" ${ALSO:+-e "$ALSO"} -- "$@" >"$WORK/nth" 2>&1; then
		pass "$desc: $(tail -n 1 "$WORK/nth")"
	else
		fail "$desc"
		tail -n 30 "$WORK/nth" | diag
	fi
}

dirty_some="run dd if=/dev/zero of=$T0 bs=64k count=20 oflag=direct conv=nocreat status=none"

# --- each allocation of each operation ---------------------------------------------------------

ok "devices" fresh 12 64 8 --block-size 64k
for policy in clock2q "seqbypass next hotspot"; do
	line=$(tier_line writeback "$policy")
	# a first table takes what device-mapper itself wants for a device, which is much; a path that can't be
	# looked up is "no such device" for it
	ALSO=19 nth "constructor, $policy" "-remove t0" "create t0 0 8 error" "!load t0 $line" "remove t0"
done
line=$(tier_line writeback clock2q)
nth "load" "-remove t0" "create t0 $line" "!resume t0" "-remove t0"
ok "metadata" check_meta
# a stop that lacks memory may be no clean one; it never fails
nth "stop" "-remove t0" "create t0 $line" "resume t0" "$dirty_some" "!suspend t0" "resume t0" "remove t0"
ok "metadata" check_meta
other=$(tier_line writethrough lru)
nth "reload" "-remove t0" "create t0 $line" "resume t0" "$dirty_some" "!load t0 $other" "!resume t0" "-resume t0" "-remove t0"
ok "metadata" check_meta
ok "create" tier_up writeback clock2q
for m in "mode writethrough" "mode writeback" "flush" "policy lru" "policy seqbypass next hotspot" "policy clock2q" \
	"set idle_ms 1000" "promote 0 1024" "pin 0 1024" "unpin 0 1024" "demote 0 1024" "invalidate 4096 1024" "stats reset"; do
	nth "message $m" "!message t0 $m"
done
nth "status" "!status t0"
nth "table" "!table t0"
is "$(st health)" rw "health"
ok "remove" dmsetup remove t0
ok "metadata" check_meta

# --- growing -----------------------------------------------------------------------------------
ok "create" tier_up writeback clock2q
ok "data" dd if=/dev/urandom of="$T0" bs=64k count=100 oflag=direct status=none
sum=$(dd if="$T0" bs=64k count=100 iflag=direct status=none | md5sum)
ok "remove" dmsetup remove t0
read -r backing sectors <"$LIB_STATE/ssd.map"
nth "load with a fast device that has shrunk" "-remove t0" \
	"run dmsetup load ssd --table '0 $((sectors - 4096)) linear $backing 0' && dmsetup resume ssd" \
	"create t0 $line" "!resume t0" "-remove t0" "run dmsetup load ssd --table '0 $sectors linear $backing 0' && dmsetup resume ssd" \
	"create t0 $line" "resume t0" "remove t0"
ok "create" tier_up writeback clock2q
is "$(dd if="$T0" bs=64k count=100 iflag=direct status=none | md5sum)" "$sum" "the data are there"
ok "remove" dmsetup remove t0

# --- I/O ---------------------------------------------------------------------------------------

# only allocations of our module, whoever runs it
for f in $FAILSLAB $FAILPAGE; do
	if [ -e "$f/require-start" ]; then
		start=$(cat /sys/module/dm_tier/sections/.text)
		echo "$start" >"$f/require-start"
		printf '0x%x\n' $((start + $(cat /sys/module/dm_tier/coresize))) >"$f/require-end"
		echo 32 >"$f/stacktrace-depth"
	fi
done
faults()	# PERCENT
{
	echo "$1" >$FAILSLAB/probability
	echo "$1" >$FAILPAGE/probability
}
SECONDS_EACH=${TIER_LONG:+60}
SECONDS_EACH=${SECONDS_EACH:-10}
# null_blk allocates while it is written to, and fails if it can't: here it is disks of QEMU's
drop_devs && wrap_dev ssd /dev/nssd && wrap_dev hdd /dev/nhdd && wrap_dev meta /dev/nmeta
is $? 0 "disks"
for mode in writeback writethrough writearound; do
	ok "$mode: format" tier_format --block-size 64k
	ok "$mode: create" tier_up $mode clock2q
	rm -f "$WORK/state"
	ok "$mode: zeros" dd if=/dev/zero of="$T0" bs=1M oflag=direct status=none count=96
	for percent in 5 50 100; do
		faults $percent
		"$IOSTRESS" run --seconds "$SECONDS_EACH" --seed $RANDOM --granule 8 "$T0" "$WORK/state" >"$WORK/log" 2>&1
		r=$?
		faults 0
		is $r 0 "$mode: I/O while $percent % of the allocations fail" || diag <"$WORK/log"
	done
	is "$(st health)" rw "$mode: health"
	ok "$mode: flush" flush_all
	ok "$mode: the slow device alone" "$IOSTRESS" verify "$HDD" "$WORK/state"
	ok "$mode: remove" dmsetup remove t0
	ok "$mode: metadata" check_meta
done
done_testing
