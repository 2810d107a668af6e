# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=600
# When dirty data are written back, how fast, and that room for new data never runs out.
# shellcheck source=../lib.sh
. "${0%/*}/../lib.sh"
# shellcheck source=ctl-lib.sh
. "${0%/*}/ctl-lib.sh"
load_modules lru clock2q
setup_devs 16 64 4
T=/dev/mapper/t0
ok "format" format_set --block-size 64k
ok "create" start t0 --policy lru --feature "idle_ms 3600000 dirty_high 80 dirty_low 60"
get_status t0
all=$((S[slots] * S[state_granules]))

# --- watermarks -------------------------------------------------------------------------------

# fill PERCENT		writes so much of all granules, from the start
fill() { dd if=/dev/zero of=$T bs=64k count=$((all * $1 / 100 / 16)) oflag=direct status=none; }

fill 70
sleep 3
holds "below the high watermark nothing is written back" t0 write_back_sectors -eq 0
fill 85
# what is written meanwhile gets dirty again
soon "above it, write back goes down to the low one" 60 has t0 write_back_sectors -ge $((all * 20 * S[granule] / 100 - 2048))
sleep 3
holds "and stops there" t0 dirty -ge $((all * 60 / 100 - 256))	# one write may go beyond
dirty=${S[dirty]}
fill 10					# the lowest were written back first
sleep 3
holds "between the two nothing is written back" t0 dirty -eq $((dirty + all * 10 / 100))
msg t0 stats reset
fill 85
soon "until the high one is passed again" 60 has t0 write_back_sectors -gt 0

# --- idle -------------------------------------------------------------------------------------

holds "some are dirty" t0 dirty -gt 0
msg t0 set idle_ms 200
soon "an idle device gets clean" 60 has t0 dirty -eq 0
msg t0 set idle_ms 3600000
wr $T 0 64
sleep 2
holds "not idle, not clean" t0 dirty -eq 64
flush t0

# --- the cap ----------------------------------------------------------------------------------

wr $T 0 2048
msg t0 set writeback_rate 256
msg t0 stats reset
sleep 1
start=${EPOCHREALTIME/./}
get_status t0
first=${S[write_back_sectors]}
msg t0 set idle_ms 0
msg t0 set dirty_low 0
sleep 6
get_status t0
ms=$(((${EPOCHREALTIME/./} - start) / 1000))
kib=$(((S[write_back_sectors] - first) / 2))
diag "$kib KiB in $ms ms at a cap of 256 KiB/s"
# 1 MiB may have been saved up, and one write of 1 MiB may go beyond
[ $kib -le $((256 * ms / 1000 + 2048)) ]
is $? 0 "no more than the cap"
[ $kib -ge $((256 * ms / 1000 / 4)) ]
is $? 0 "and not nothing"
msg t0 set writeback_rate 0
soon "without a cap it is done soon" 60 has t0 dirty -eq 0

# writes that the slow device has seen
hdd_writes() { awk '{ print $5 }' "/sys/class/block/$(dmsetup info -c --noheadings -o blkdevname hdd)/stat"; }

# --- in address order, merged -----------------------------------------------------------------

msg t0 set idle_ms 3600000
for i in 7 3 5 1 6 0 4 2; do
	wr $T $((i * 16)) 16
done
msg t0 stats reset
before=$(hdd_writes)
flush t0
writes=$(($(hdd_writes) - before))
holds "8 blocks are written back" t0 write_back_sectors -eq 1024
[ $writes -ge 1 ] && [ $writes -le 4 ]
is $? 0 "in few writes: $writes"

# --- a full cache -----------------------------------------------------------------------------

run=$((12 * LIB_SLOW))
for p in lru clock2q; do
	msg t0 policy $p
	msg t0 set dirty_high 50
	msg t0 set dirty_low 20
	dd if=/dev/zero of=$T bs=64k oflag=direct status=none 2>/dev/null	# all of it, 4 times the SSD
	msg t0 stats reset
	fio --name=f --thread --filename=$T --rw=randwrite --bs=4k --ioengine=libaio --iodepth=4 --direct=1 --size=64M \
		--norandommap=1 --time_based --runtime=$run --write_iops_log="$WORK/$p" --log_avg_msec=1000 >"$WORK/fio.out" 2>&1
	is $? 0 "$p: $run s of random writes to a full cache"
	get_status t0
	# a busy host takes seconds away from the guest: longer gaps than that are stalls
	longest=$(awk -F, -v all=$((run * 1000)) '{ d = $1 - last; last = $1; if (d > max) max = d } $2 < 1 { max = all }
		END { d = all - last; print int(d > max ? d : max) }' "$WORK/$p"_iops.1.log)
	[ "$longest" -lt $((run * 500)) ]
	is $? 0 "$p: goes on all the time, the longest gap is $longest ms" ||
		diag "$(cut -d, -f1,2 "$WORK/$p"_iops.1.log)"
	writes=$((S[write_hits] + S[write_misses]))
	diag "$writes writes, ${S[bypass_noslot]} without a slot, ${S[bypass_policy]} by the policy, ${S[demotions]} demotions"
	# no more than can be given up for them, which depends on the machine
	[ $writes -gt 100 ] && [ $((S[bypass_noslot] * 10)) -lt $((writes * 9)) ]
	is $? 0 "$p: a good share finds room on the SSD"
done
ok "stop" stop t0
ok "check" "$DMTIER" check "$SSD" "$HDD" "$META"
done_testing
