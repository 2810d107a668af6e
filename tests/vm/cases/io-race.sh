# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=900
# vmtap: disk=zssd:size=16M
# vmtap: disk=zhdd:size=64M
#
# Writes to the same sectors at once: whatever wins, both devices must agree on it.
# shellcheck source=../io-lib.sh
. "${0%/*}/../io-lib.sh"
load_modules

overlapping()	# SECONDS [OPTION...]
{
	local seconds=$1

	shift
	fio --name=o --thread --filename="$T0" --direct=1 --ioengine=libaio --iodepth=8 --numjobs=6 --size=2M \
		--rw=randrw --rwmixread=20 --norandommap --randrepeat=0 --bssplit=512/20:4k/40:6k/10:64k/30 --blockalign=512 \
		--time_based --runtime="$seconds" --group_reporting --eta=never "$@"
}
discards() { blkdiscard -l 2M "$T0" && blkdiscard -o 64k -l 320k "$T0"; }
# the fast device alone: reads of the slow one fail
alone() { "$IOSTRESS" compare --sectors 4096 --errors-ok "$T0" "$WORK/hdd"; }

# disks of QEMU's do what was sent at the same time in any order, null_blk does not
on_disks()	# BLOCK-SIZE
{
	need_disk zssd zhdd
	drop_devs && wrap_dev ssd /dev/zssd && wrap_dev hdd /dev/zhdd && new_dev meta 8 &&
		tier_format --block-size "$1" && tier_up writethrough lru
}

ok "create on disks" on_disks 64k
# the smaller the area, the more of them meet
ok "writethrough on disks" overlapping 5 --size=64k
ok "both say the same" same "$HDD" "$T0" 65536
dd if="$HDD" of="$WORK/hdd" bs=64k count=1 iflag=direct 2>/dev/null
ok "the copies too" "$IOSTRESS" compare --sectors 128 "$T0" "$WORK/hdd"
ok "remove" dmsetup remove t0
drop_devs

# an endless reader fills the block that endless writers change on the slow device: nobody reads what was
# overwritten (each thread of iostress reads back sectors that it alone writes)
for bs in 64k ${TIER_LONG:+4k 256k}; do
	ok "create, $bs" new_tier 12 32 8 "$bs" writearound lru "fill_sectors 128"
	repeat dd if="$T0" of=/dev/null bs=64k count=1 iflag=direct status=none
	ok "bypass race, $bs: not one stale read" "$IOSTRESS" run --seed $RANDOM --seconds 3 --sectors 128 --threads 4 --max 16 \
		--hot 0 --reads 50 --discards 0 --zeroes 0 "$T0" "$WORK/state"
	stop_repeating
	fills=$(($(st fills) + $(st populates)))
	[ $fills -gt 10 ]
	is $? 0 "while it was filled $fills times"
	ok "the slow device has the same" "$IOSTRESS" verify --sectors 128 "$HDD" "$WORK/state"
done

# the same few blocks from both processors: reads, writes and discards, while each of them is copied to the fast
# device and given up again, all the time
no_jobs() { [ "$(st jobs)" = 0 ]; }
to_and_fro() { msg promote 0 512 && msg demote 0 512 && wait_until 60 no_jobs; }
moved() { [ "$(st promotions)" -ge 8 ] && [ "$(st demotions)" -ge 8 ]; }
for mode in writeback ${TIER_LONG:+writethrough} writearound; do
	for bs in 64k ${TIER_LONG:+4k 256k}; do
		what="to and fro, $mode, $bs"
		ok "create, $bs" new_tier 12 32 8 "$bs" "$mode" lru "idle_ms 10" "migration_rate 1048576"
		repeat to_and_fro
		"$IOSTRESS" run --seed $RANDOM --seconds 600 --sectors 512 --threads 8 --max 48 --hot 0 --reads 30 --discards 10 \
			--zeroes 2 "$T0" "$WORK/state" >"$WORK/log" 2>&1 &
		pid=$!
		ok "$what: all is moved, again and again" wait_until 300 moved
		kill $pid
		wait $pid
		is $? 0 "$what: all reads are right, $(head -n 1 "$WORK/log")" || diag <"$WORK/log"
		stop_repeating
		is $? 0 "no message fails, all jobs end"
		ok "flush" flush_all
		ok "both say the same" same "$HDD" "$T0"
		ok "the slow device has the same" "$IOSTRESS" verify --sectors 512 "$HDD" "$WORK/state"
	done
done

for bs in 4k ${TIER_LONG:+64k}; do
	ok "create, $bs" new_tier 12 32 8 "$bs" writethrough lru
	ok "writethrough, $bs" overlapping 4
	ok "both say the same" same "$HDD" "$T0"
	dd if="$HDD" of="$WORK/hdd" bs=64k count=32 iflag=direct 2>/dev/null
	ok "it reads right" alone		# and is resident, for the most part
	sleep 0.5
	dev_fail hdd read
	ok "and so does the fast device alone" alone
	diag "$(alone)"
	dev_ok hdd

	ok "writeback" set_mode writeback
	ok "writeback, $bs" overlapping 4
	before=$(flat "$T0")
	ok "flush" flush_all
	is "$(flat "$T0")" "$before" "a flush changes nothing"
	ok "both say the same" same "$HDD" "$T0"

	# a discard beside writes: which one wins is open, but both devices agree on it
	msg set idle_ms 0
	repeat discards
	ok "with discards, $bs" overlapping 4
	stop_repeating
	is $? 0 "the discards end"
	before=$(flat "$T0")
	ok "flush" flush_all
	is "$(flat "$T0")" "$before" "a flush changes nothing"
	ok "both say the same" same "$HDD" "$T0"

	# messages are all that changes here
	overlapping 4 >"$WORK/fio" 2>&1 &
	pid=$!
	while kill -0 $pid 2>/dev/null; do
		for m in writethrough writeback writearound passthrough writethrough; do
			msg mode $m && sleep 0.1
		done
	done
	wait $pid
	is $? 0 "with mode switches, $bs" || diag <"$WORK/fio"
	before=$(flat "$T0")
	ok "settles" set_mode writethrough
	is "$(flat "$T0")" "$before" "which changes nothing"
	ok "both say the same" same "$HDD" "$T0"
	ok "remove" dmsetup remove t0
	is "$(flat "$HDD")" "$before" "the slow device alone"
	ok "metadata" check_meta
done
done_testing
