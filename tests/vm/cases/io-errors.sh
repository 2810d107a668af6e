# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=900
# vmtap: ignore=Buffer I/O error|blk_update_request|I/O error, dev
#
# Errors of each device: what is answered from the other one, what the caller gets to know, what is kept.
# shellcheck source=../io-lib.sh
. "${0%/*}/../io-lib.sh"
load_modules

AREA=8192	# sectors, less than the fast device has
quiet_line=("dirty_high 99" "idle_ms 3600000" "max_errors 1000000")

stress()	# SECONDS [OPTION...]
{
	"$IOSTRESS" run --seed $RANDOM --sectors $AREA --hot 0 --discards 0 --zeroes 0 --seconds "$@" "$T0" "$WORK/state"
}
verify() { "$IOSTRESS" verify --sectors $AREA "$1" "$WORK/state"; }
# zeros, which is what stress() begins with
write_area() { rm -f "$WORK/state" && dd if=/dev/zero of="$T0" bs=64k count=$((AREA / 128)) oflag=direct conv=notrunc; }
read_area() { dd if="$T0" of=/dev/null bs=64k count=$((AREA / 128)) iflag=direct; }
one_write() { dd if=/dev/urandom of="$T0" bs=4k count=1 seek="$1" oflag=direct conv=notrunc; }
none_used() { [[ $(st used) == 0/* ]]; }
one_read() { dd if="$T0" of=/dev/null bs=4k count=1 skip="$1" iflag=direct; }

# --- reads of the slow device fail: the fast copy alone ---
ok "create" new_tier 12 64 8 64k writethrough lru "${quiet_line[@]}"
ok "write" write_area
ok "I/O" stress 2
ok "the slow device has everything" verify "$HDD"
dev_fail hdd read
ok "the copies alone have everything" verify "$T0"
nok "what has no copy fails" one_read 12000
dev_ok hdd
ok "and reads again afterwards" one_read 12000

# --- reads of the fast device fail ---
dev_fail ssd read
ok "clean copies are answered from the slow device" verify "$T0"
isnt "$(st fast_errors)" 0 "the errors are counted"
is "$(st health)" rw "and are few enough to go on"
dev_ok ssd
ok "afterwards" verify "$T0"

ok "writeback" set_mode writeback
ok "write" write_area
ok "I/O" stress 2
dirty=$(st dirty)
isnt "$dirty" 0 "there are dirty data"
dev_fail ssd read
nok "dirty data can't be read" one_read 100
klog_mark
msg flush
ok "the flush ends" wait_until 60 flush_ended
is "$(st flush)" failed "and says it failed"
is "$(st dirty)" "$dirty" "the data are kept"
ok "the blocks are counted" some_unwritable
like "$(klog)" "write back of block [0-9]+" "and named"
dev_ok ssd
ok "they read again afterwards" verify "$T0"
ok "and are written back" flush_all
is "$(st unwritable)" 0 "none is unwritable"
ok "to the slow device" verify "$HDD"

# --- writes to the fast device fail ---
msg demote 0 131072
ok "not resident" wait_until 20 bash -c "dmsetup status --noflush t0 | grep -q ' 0/[0-9]'"
dev_fail ssd write
ok "new data go to the slow device" stress 2
dev_ok ssd
ok "nothing is lost" verify "$T0"
ok "flush" flush_all
ok "the slow device" verify "$HDD"
ok "writethrough" set_mode writethrough
ok "write" write_area
dev_fail ssd write
ok "written through to copies that fail" stress 2
ok "reads back" verify "$T0"
dev_ok ssd
ok "nothing old comes back" verify "$T0"
ok "the slow device" verify "$HDD"

# --- the slow device's errors reach the caller ---
ok "passthrough" set_mode passthrough
dev_fail hdd write
nok "passthrough: a write fails" one_write 20
ok "passthrough: a read does not" one_read 20
dev_ok hdd
ok "writethrough" set_mode writethrough
ok "resident" read_area
dev_fail hdd write
nok "writethrough: a write fails" one_write 30
dev_ok hdd
ok "both agree on what it is" same "$HDD" "$T0"

# --- the slow device fails while dirty data are written back ---
ok "writeback" set_mode writeback
ok "write" write_area
ok "I/O" stress 2
dev_bad hdd 1000 100 write
klog_mark
msg flush
ok "the flush ends" wait_until 60 flush_ended
is "$(st flush)" failed "and says it failed"
ok "blocks are unwritable" some_unwritable
isnt "$(st dirty)" 0 "something stays dirty"
[ "$(st dirty)" -lt 40 ]
is $? 0 "but only what can't be written ($(st dirty) granules)"
like "$(klog)" "write back of block [0-9]+ \(sector [0-9]+" "the log names the blocks"
ok "all reads back" verify "$T0"
ok "remove, with data that can't be written" dmsetup remove t0
ok "create" tier_up writeback lru "${quiet_line[@]}"
ok "all reads back" verify "$T0"
dev_ok hdd
ok "flush" flush_all
ok "all is on the slow device" verify "$HDD"

# --- errors that come and go ---
stress 10 --errors-ok >"$WORK/log" 2>&1 &
pid=$!
while kill -0 $pid 2>/dev/null; do
	for f in "ssd write" "ssd read" "hdd write" "hdd read" "ssd all"; do
		# shellcheck disable=SC2086
		dev_fail $f
		sleep 0.2
		dev_ok "${f% *}"
	done
done
wait $pid
is $? 0 "errors that come and go: no wrong data" || diag <"$WORK/log"
diag "$(head -1 "$WORK/log")"
ok "what is known reads back" verify "$T0"
ok "flush" flush_all
ok "both agree" same "$HDD" "$T0"
is "$(st health)" rw "health"

# --- flushes fail ---
ok "no commit for a while: if one failed, a flush would be told" msg set commit_ms 60000
ok "write" one_write 40
dev_fail ssd flush
nok "a flush of the fast device that fails reaches the caller" dd if=/dev/zero of="$T0" bs=4k count=1 seek=41 oflag=direct conv=notrunc,fsync
dev_ok ssd
ok "and is tried again" dd if=/dev/zero of="$T0" bs=4k count=1 seek=41 oflag=direct conv=notrunc,fsync
is "$(st health)" rw "health"

# --- and the device has thrown away what was written since the last one ---
throw_away() { dd if=/dev/zero of="$1" bs=64k seek=16 count=$((AREA / 128)) oflag=direct conv=notrunc,nocreat; }
shifted() { cmp -n $((AREA * 512)) -i 1048576:0 "$1" "$WORK/data"; }
write_shifted() { dd if="$WORK/data" of="$T0" bs=64k seek=16 count=$((AREA / 128)) oflag=direct conv=notrunc,nocreat; }
head -c $((AREA * 512)) /dev/urandom >"$WORK/data"
ok "create" new_tier 12 64 8 64k writeback lru "${quiet_line[@]}" "commit_ms 60000"
ok "write" write_shifted
ok "durably" sync "$T0"
dirty=$(st dirty)
msg set commit_ms 60000
dev_fail hdd flush
klog_mark
msg flush
ok "data are written back, but not durably: the flush ends" wait_until 60 flush_ended
is "$(st flush)" failed "and says it failed"
is "$(st dirty)" "$dirty" "all is dirty again"
like "$(klog)" "flush of the slow device failed: [0-9]+ blocks are dirty again" "the log says so"
dev_ok hdd
ok "the slow device has none of it" throw_away "$HDD"
ok "a flush of those who have written nothing since succeeds" sync "$T0"
ok "flush" flush_all
ok "now the slow device has it" shifted "$HDD"
ok "write" write_shifted
ok "durably" sync "$T0"
dev_fail hdd flush
used=$(st used)
ok "data are written back in the background" msg set idle_ms 1
all_clean() { [ "$(st dirty)" = 0 ]; }
ok "all of them" wait_until 60 all_clean
ok "no commit for a while" msg set idle_ms 3600000
ok "what was not written back durably is to be given up" msg demote 2048 $AREA
jobs_over() { [ "$(st jobs)" = 0 ]; }
ok "the job ends" wait_until 20 jobs_over
is "$(st used)" "$used" "nothing was given up"
is "$(st dirty)" "$dirty" "and all is dirty again"
ok "data are written back again" msg set idle_ms 1
ok "all of them" wait_until 60 all_clean
ok "no commit for a while" msg set idle_ms 3600000
nok "nothing of that is invalidated" msg invalidate 2048 $AREA
like "$(klog | tail -n 3)" "what was written back can't be made durable" "and the log says why"
is "$(st used)" "$used" "all is there"
ok "data are written back again" msg set idle_ms 1
ok "all of them" wait_until 60 all_clean
ok "no commit for a while" msg set idle_ms 3600000
dev_fail ssd read
ok "the fast device's copy can't be read" one_read 256
dev_ok ssd
nok "flush" sync "$T0"
is "$(st health)" ro "health: ro"
nok "a write fails" one_write 0
ok "remove" dmsetup remove t0
dev_ok hdd
ok "the slow device has none of it" throw_away "$HDD"
ok "create" tier_up writeback lru "${quiet_line[@]}" "commit_ms 60000"
ok "all is there" shifted "$T0"
ok "flush" flush_all
ok "also on the slow device" shifted "$HDD"
# both devices: one after the other, then at once
# (the first message starts the commit timer anew: a commit meanwhile would flush both, rightly)
all_written_back() { msg set commit_ms 60000 && msg set idle_ms 1 && wait_until 60 all_clean && msg set idle_ms 3600000; }
ok "write" write_shifted
ok "durably" sync "$T0"
ok "data are written back in the background" all_written_back
ok "something is dirty" one_write 0
dev_fail ssd flush
nok "a flush of the fast device fails" sync "$T0"
dev_ok ssd
dev_fail hdd flush
ok "more is written back" all_written_back
nok "a flush of the slow device fails" sync "$T0"
is "$(st health)" rw "what was flushed there before needs no other copy"
dev_ok hdd
ok "flush" flush_all
ok "all is on the slow device" shifted "$HDD"
ok "write" write_shifted
ok "durably" sync "$T0"
ok "data are written back in the background" all_written_back
ok "something is dirty" one_write 0
dev_fail ssd flush
dev_fail hdd flush
nok "a flush of both fails" sync "$T0"
dev_ok ssd
dev_ok hdd
is "$(st health)" rw "what was written back is still on the fast device"
ok "the slow device has none of it" throw_away "$HDD"
ok "flush" flush_all
ok "now it has" shifted "$HDD"
# a part of a granule is written to the slow device while that happens
write_granule() { dd if="$WORK/granule" of="$T0" bs=4k count=1 seek=4096 oflag=direct conv=notrunc; }
write_part() { dd if="$WORK/data" of="$T0" bs=512 count=1 seek=$((8 * 4096 + 3)) oflag=direct conv=notrunc; }
granule() { cmp -n 4096 -i $((4096 * 4096)):0 "$1" "$WORK/granule"; }
head -c 4096 /dev/urandom >"$WORK/granule"
ok "a granule" write_granule
ok "is written back" flush_all
ok "a write of it, which marks its region" write_granule
ok "durably" sync "$T0"
ok "it is written back in the background" all_written_back
ok "the slow device has none of it" dd if=/dev/zero of="$HDD" bs=4k count=1 seek=4096 oflag=direct conv=notrunc,nocreat
read -r _ sectors <"$LIB_STATE/hdd.map"
dev_table hdd "$(lib_failing hdd 0 "$sectors" flush | awk '{ $9 = 3000; $12 = 1500; print }')"
msg mode passthrough
sleep 0.5
ok "a part of it is written past the fast device, while a flush fails" write_part
dev_ok hdd
dd if="$WORK/data" of="$WORK/granule" bs=512 count=1 seek=3 conv=notrunc status=none
ok "writeback" set_mode writeback
sync "$T0"
ok "the rest of it is there" granule "$T0"
ok "flush" flush_all
ok "also on the slow device" granule "$HDD"
# what is not flushed yet
ok "commits in the background" msg set commit_ms 200
ok "writethrough" set_mode writethrough
dev_fail hdd flush
ok "write" write_shifted
ok "a read that changes records" one_read 20
sleep 1
dev_ok hdd
nok "the next flush fails: what was written before may be lost" sync "$T0"
ok "the second one succeeds" sync "$T0"
# the fast device, with dirty data
ok "create" new_tier 12 64 8 64k writeback lru "${quiet_line[@]}" "commit_ms 60000"
ok "the slow device has data" dd if="$WORK/data" of="$HDD" bs=64k seek=16 oflag=direct conv=notrunc,nocreat
ok "something is dirty" one_write 0
dev_fail ssd flush
ok "read" shifted "$T0"
nok "a flush" sync "$T0"
dev_ok ssd
ok "the next one succeeds" sync "$T0"
dropped() { [[ $(st used) == [01]/* ]]; }
ok "clean copies are given up" wait_until 20 dropped
ok "the fast device has none of them" dd if=/dev/zero of="$SSD" bs=64k seek=16 count=$((10 * 16)) oflag=direct conv=notrunc,nocreat
ok "all is read from the slow device" shifted "$T0"
ok "remove" dmsetup remove t0
ok "create" new_tier 12 64 8 64k writethrough lru "${quiet_line[@]}"

# --- too many errors of the fast device ---
ok "limit" msg set max_errors 8
ok "write" write_area
ok "flush" flush_all
dev_fail ssd write
ok "I/O goes on" stress 2 --reads 10
is "$(st health)" degraded "health: degraded"
ok "reads back" verify "$T0"
dev_ok ssd
ok "I/O while degraded" stress 2
ok "the slow device has everything" flush_all
ok "verified" verify "$HDD"
ok "remove" dmsetup remove t0
ok "metadata" check_meta

# --- the fast device is given up while the target stops ---
ok "create" new_tier 12 64 8 64k writethrough lru "max_errors 1" "commit_ms 60000"
ok "write" write_area
ok "durably" sync "$T0"
ok "write" dd if=/dev/zero of="$T0" bs=4k count=1 seek=40 oflag=direct conv=notrunc
dev_fail ssd flush
klog_mark
ok "suspend" dmsetup suspend --nolockfs t0
sleep 1
like "$(klog)" "from now on degraded" "a flush that fails gives the fast device up"
unlike "$(klog)" "read-only|not cleanly" "and the stop is in order all the same"
dev_ok ssd
ok "resume" dmsetup resume t0
is "$(st health)" degraded "health: degraded"
ok "what the fast device had is given back" wait_until 20 none_used
ok "I/O while degraded" stress 2
ok "remove" dmsetup remove t0
ok "metadata" check_meta
ok "create" tier_up writethrough lru
ok "verified" verify "$T0"
ok "remove" dmsetup remove t0

# --- slow devices ---
ok "create" new_tier 12 64 8 64k writeback lru
dev_slow hdd 30
ok "a slow device that is slow" stress 2
dev_slow ssd 10
ok "both" stress 2
dev_ok ssd
dev_ok hdd
ok "flush" flush_all
ok "verified" verify "$HDD"

# --- metadata writes fail ---
ok "I/O" stress 2
sync "$T0"
cp "$WORK/state" "$WORK/durable"
klog_mark
dev_fail meta write
nok "a write that has to be recorded fails" dd if=/dev/zero of="$T0" bs=4k count=1 seek=10000 oflag=direct conv=notrunc,fsync
is "$(st health)" ro "health: ro"
like "$(klog)" "metadata write failed" "the log says so"
nok "writes fail" one_write 50
nok "flushes fail" sync "$T0"
ok "reads do not" verify "$T0"
ok "remove" within 30 dmsetup remove t0
dev_ok meta
ok "metadata" check_meta
ok "create" tier_up writeback lru
ok "what was flushed is there" verify "$T0"

# --- only the journal can't be written: the mark on the superblock stays ---
journal=$("$TIER_TOP/tests/tools/build/meta-edit" "$META" where journal 0)
blocks=$("$DMTIER" check --force --json "$META" 2>/dev/null | jq .journal_blocks)
ok "I/O" stress 2
sync "$T0"
dev_bad meta $((journal * 8)) $((blocks * 8)) write
nok "a write that has to be recorded fails" dd if=/dev/zero of="$T0" bs=4k count=1 seek=10001 oflag=direct conv=notrunc,fsync
is "$(st health) $(st check)" "ro needs_check" "health: ro, and the superblock says so"
ok "remove" within 30 dmsetup remove t0
dev_ok meta
nok "it does not start" tier_up writeback lru
nok "check says why" check_meta
"$DMTIER" check --clear-needs-check "$SSD" "$HDD" "$META" >"$WORK/check"
is $? 1 "check takes the mark off"
ok "create" tier_up writeback lru
ok "what was flushed is there" verify "$T0"
ok "flush" flush_all
ok "on the slow device too" verify "$HDD"
ok "remove" dmsetup remove t0
done_testing
