# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=900
# vmtap: ignore=Buffer I/O error|I/O error, dev
#
# Tiered mode: a tier that fails harms the blocks on it and no others; writes go to another tier; a failed move
# changes nothing; a tier is emptied that has errors; no room is ENOSPC.
# shellcheck source=../tiered-lib.sh
. "${0%/*}/../tiered-lib.sh"
load_modules

head -c 16M /dev/urandom >"$WORK/noise"
NEW=$WORK/new
head -c 4M /dev/urandom >"$NEW"

dmt() { within 120 "$DMTIER" "$@"; }
write() { dd if="${3:-$WORK/noise}" of="$T0" bs=64k seek="$1" count="$2" oflag=direct conv=notrunc,fsync status=none; }	# BLOCK COUNT [FILE]
right() { same_blocks "$T0" "$1" "$2" "${3:-$WORK/noise}" "${4:-$1}"; }	# BLOCK COUNT [FILE AT]
read_all() { dd if="$T0" of=/dev/null bs=64k skip="$1" count="$2" iflag=direct status=none; }
moved() { msg move "$1" $(($2 * 128)) $(($3 * 128)) && wait_until 60 no_jobs; }

# blocks 0-31 on tier 0, 32-63 on 1, 64-95 on 2
ok "create" new_tiers 64k "17 33 8 33" lru "migration off migration_rate 1000000 max_errors 1000000"
ok "write" write 0 96
ok "some to the second tier" moved 1 32 32
ok "some to the third" moved 2 64 32
places() { echo "$(on_tier 0 0 32) $(on_tier 1 32 32) $(on_tier 2 64 32)"; }
comes_to "32 32 32" "they are there" places

# ---- reads ----
dev_fail hdd read
ok "the second tier fails: blocks of the first are read" right 0 32
ok "and those of the third" right 64 32
code 1 "those of the second are not" read_all 40 1
like "$OUT" "Input/output error" "EIO"
isnt "$(tier 1 errors)" 0 "counted there"
is "$(tier 0 errors) $(tier 2 errors)" "0 0" "and only there"
ok "a move off it ends" moved 0 40 4
is "$(on_tier 1 40 4)" 4 "and moves nothing"
dev_ok hdd
ok "all is right" right 0 96

# ---- writes ----
dev_fail hdd write
ok "writes to the second tier that fail are done" write 32 4 "$NEW"
is "$(on_tier 1 32 4)" 0 "on another one"
ok "also of a part of a block" dd if="$NEW" of="$T0" bs=4k seek=$((36 * 16 + 5)) count=1 oflag=direct conv=notrunc,fsync status=none
is "$(on_tier 1 36 1)" 0 "the block has moved"
ok "a move there ends" moved 1 0 4
is "$(on_tier 0 0 4)" 4 "and leaves all where it was"
dev_ok hdd
ok "a flush" sync "$T0"
ok "what was written is right" right 32 4 "$NEW" 0
ok "the part too" cmp -n 4096 -i $((36 * 65536 + 5 * 4096)):0 "$T0" "$NEW"
ok "and what is around it" cmp -n $((10 * 4096)) -i $((36 * 65536 + 6 * 4096)) "$T0" "$WORK/noise"
ok "the rest" right 37 59

# ---- all of a tier ----
dev_fail ssd all
ok "the first tier fails: first writes land on another, and a flush of them succeeds" write 100 4
is "$(on_tier 0 100 4)" 0 "so they do"
ok "a move between the others" moved 2 100 2
comes_to 2 "is done" on_tier 2 100 2
code 1 "its blocks can't be read" read_all 8 1
code 1 "nor written" dd if="$NEW" of="$T0" bs=64k seek=8 count=1 oflag=direct conv=notrunc status=none
dev_ok ssd
# unflushed writes of a tier whose flushes fail
ok "a write to the first tier" dd if="$NEW" of="$T0" bs=64k seek=8 count=1 oflag=direct conv=notrunc status=none
dev_fail ssd flush
code 1 "its flush fails" sync "$T0"
ok "a block lands there" dd if="$WORK/noise" of="$T0" bs=64k seek=104 count=1 oflag=direct conv=notrunc status=none
ok "a discard of it" sh -c "blkdiscard -o $((104 * 65536)) -l 65536 $T0 || :"
ok "is done" zeros "$T0" $((104 * 128)) 65536
ok "a move between the others" moved 1 100 2
comes_to 2 "is done" on_tier 1 100 2
dev_ok ssd
code 1 "the next flush fails: what was written since may be lost" sync "$T0"
ok "then it succeeds" sync "$T0"
ok "remove" dmsetup remove t0
ok "metadata" check_tiers
ok "create again" tiers_up lru "migration off migration_rate 1000000 max_errors 4"
ok "all is right" right 9 23
ok "what was written" right 8 1 "$NEW" 0
ok "what landed elsewhere too" right 100 4 "$WORK/noise" 0

# ---- a stop that fails, at a reload ----
ok "a write" dd if="$NEW" of="$T0" bs=64k seek=9 count=1 oflag=direct conv=notrunc status=none
dev_fail ssd flush
dmsetup table t0 | dmsetup load t0
ok "another table" sh -c "dmsetup suspend --nolockfs t0; dmsetup resume t0"
dev_ok ssd
code 1 "its first flush fails: what was written before may be lost" sync "$T0"
ok "the second one succeeds" sync "$T0"
# of the stop's flushes only the first fails: it waits until the device is all right again
ok "a write" dd if="$NEW" of="$T0" bs=64k seek=9 count=1 oflag=direct conv=notrunc status=none
read -r _ sectors <"$LIB_STATE/ssd.map"
dev_table ssd "$(lib_failing ssd 0 "$sectors" flush | sed 's/ 0$/ 60000/')"
dmsetup table t0 | dmsetup load t0
sh -c "dmsetup suspend --nolockfs t0; dmsetup resume t0" &
sleep 1
dev_ok ssd
wait $!
is $? 0 "another table, and a stop of which one flush fails"
code 1 "its first flush fails too" sync "$T0"
ok "the second one succeeds" sync "$T0"

# ---- many errors ----
dev_fail hdd read
for i in 40 41 42 43; do code 1 "a read error" read_all $i 1; done
is "$(tier 1 state)" failing "after max_errors the tier is failing"
dev_ok hdd
nok "nothing is moved there" msg move 1 0 128

# ---- no room while a move can't be recorded ----
ok "create" new_tiers 64k "3 5 8" lru "migration off migration_rate 1000000 max_errors 1000000 commit_ms 200"
len=$(($(blockdev --getsz "$T0") / 128))
ok "write all of it" write 0 $len
ok "discard a block" blkdiscard -o 65536 -l 65536 "$T0"
ok "that is durable" sync "$T0"
dev_fail ssd flush
ok "a block moves to the tier that can't be flushed" moved 0 $((len - 1)) 1
sleep 1
n=$(tier 0 errors)
sleep 1
ok "that is tried when the timer says so" test $(($(tier 0 errors) - n)) -lt 30
is "$(on_tier 0 $((len - 1)) 1)" 0 "and the block is where it was"
dev_ok ssd
ok "when it can be flushed again" sync "$T0"
ok "there is room" dd if="$NEW" of="$T0" bs=64k seek=1 count=1 oflag=direct conv=notrunc,fsync status=none
ok "the rest is right" right 2 $((len - 2))

# ---- a tier throws away what was not flushed ----
ok "create" new_tiers 64k "3 5 8" lru "migration off migration_rate 1000000 max_errors 1000000 commit_ms 60000"
ok "write" write 0 60
ok "durably" sync "$T0"
dev_fail hdd flush
klog_mark
ok "blocks move to the other tier" msg move 1 0 $((8 * 128))
ok "wait" wait_until 20 no_jobs
back() { [[ $(klog) == *"in their old places again"* ]]; }
ok "that is undone" wait_until 20 back
is "$(on_tier 1 0 8)" 0 "and are in their old places again"
like "$(klog)" "flush of tier 1 failed: [0-9]+ blocks that were moved there are in their old places again" "the log says so"
dev_ok hdd
ok "the other tier has lost them" dd if=/dev/zero of="$HDD" bs=64k seek=1 oflag=direct conv=notrunc,nocreat count=40
ok "all is right" right 0 8
ok "a flush of those who have written nothing since succeeds" sync "$T0"

# ---- the same, and the blocks are written to before a commit has recorded their move ----
# a commit that takes up this block waits for the metadata device
hold_commit()	# UNUSED-BLOCK
{
	dmsetup suspend --nolockfs meta &&
	dd if="$WORK/noise" of="$T0" bs=64k seek="$1" count=1 oflag=direct conv=notrunc status=none || return
	sync "$T0" >/dev/null 2>&1 &
	sleep 0.5
}
to_second() { msg move 1 0 $((4 * 128)) && wait_until 20 no_jobs && wait_until 2 on_second; }
# blocks 0-3 move and are written to while a commit is held up
written_in_move()	# UNUSED-BLOCK
{
	hold_commit "$1" && to_second &&
	dd if="$NEW" of="$T0" bs=64k seek=2 count=1 oflag=direct conv=notrunc status=none &&
	dd if="$NEW" of="$T0" bs=4k seek=$((16 + 3)) count=2 oflag=direct conv=notrunc status=none &&
	dd if="$NEW" of="$T0" bs=512 seek=13 count=2 oflag=direct conv=notrunc status=none
}
on_second() { [ "$(on_tier 1 0 4)" = 4 ]; }
on_first() { [ "$(on_tier 0 0 4)" = 4 ]; }

ok "blocks move and are written to" written_in_move 60
ok "a flush fails" dev_fail hdd flush
ok "go on" dmsetup resume meta
ok "the blocks are in their old places again" wait_until 20 on_first
is "$(st health)" rw "that is no reason to stop"
ok "what was written is there" right 2 1 "$NEW" 0
ok "also a part" cmp -n 8192 -i $(((16 + 3) * 4096)):0 "$T0" "$NEW"
ok "also less than a granule" cmp -n 1024 -i $((13 * 512)):0 "$T0" "$NEW"
ok "what is before it is as it was" cmp -n $((13 * 512)) "$T0" "$WORK/noise"
ok "and behind it" cmp -n $((65536 - 15 * 512)) -i $((15 * 512)) "$T0" "$WORK/noise"
ok "and around the other part" cmp -n $((3 * 4096)) -i 65536 "$T0" "$WORK/noise"
ok "both sides" cmp -n $((11 * 4096)) -i $((65536 + 5 * 4096)) "$T0" "$WORK/noise"
ok "and the block that was not written" right 3 1
ok "all is well again" dev_ok hdd
code 1 "the writers are told" sync "$T0"
ok "once" sync "$T0"
ok "write what was there before" write 0 4

ok "blocks move and are written to" written_in_move 61
ok "a flush fails, and what was written can't be read" dev_fail hdd flush read
ok "go on" dmsetup resume meta
ok "the blocks are in their old places again" wait_until 20 on_first
is "$(st health)" rw "health"
ok "all is well again" dev_ok hdd
code 1 "the writers are told" sync "$T0"
ok "once" sync "$T0"
ok "and have what was there before" right 0 4

ok "blocks move and are written to" written_in_move 62
ok "a flush fails" dev_fail hdd flush
ok "and the old places can't be written" dev_fail ssd write
ok "go on" dmsetup resume meta
sleep 2
is "$(on_tier 1 2 1) $(st health)" "1 rw" "what was written stays where it is"
code 1 "and is not durable" sync "$T0"
ok "the fast tier is well again" dev_ok ssd
code 1 "the other one is not" sync "$T0"
ok "the blocks are in their old places again" wait_until 20 on_first
ok "all is well again" dev_ok hdd
ok "the last flush that fails" sh -c "sync $T0 || :"
ok "then it succeeds" sync "$T0"
ok "what was written is there" right 2 1 "$NEW" 0
ok "and what was not" right 3 27
ok "remove" dmsetup remove t0
ok "metadata" check_tiers
ok "create again" tiers_up lru "migration off migration_rate 1000000 max_errors 1000000 commit_ms 60000"
ok "what was written is there" right 2 1 "$NEW" 0
ok "and what was not" right 3 27
ok "write what was there before" write 0 4
ok "and leave room" blkdiscard -o $((60 * 65536)) -l $((3 * 65536)) "$T0"

# ---- a block that has just moved can't be written ----
ok "blocks move and are written to" written_in_move 63
ok "the tier that they are on can't be written" dev_fail hdd write
dd if="$NEW" of="$T0" bs=64k seek=3 count=1 oflag=direct conv=notrunc status=none >/dev/null 2>&1 &
writer=$!
sleep 1
ok "the commit of the moves goes on" dmsetup resume meta
wait $writer
is $? 0 "a write is done elsewhere"
is "$(on_tier 0 3 1)" 1 "where there is room"
ok "all is well again" dev_ok hdd
ok "a flush" sync "$T0"
ok "it is there" right 3 1 "$NEW" 0
ok "and what was written before" right 2 1 "$NEW" 0
ok "the others move back" msg move 0 0 $((4 * 128))
ok "they do" wait_until 20 on_first
ok "write what was there before" write 0 4
ok "and leave room" blkdiscard -o $((63 * 65536)) -l 65536 "$T0"

# ---- a tier that is emptied gets its blocks back ----
gone() { [ "$(tier 0 state)" = empty ] && no_jobs; }
ok "the timer commits" msg set commit_ms 200
dev_fail hdd flush
klog_mark
ok "empty the first tier" msg evacuate 0
ok "its blocks come back" wait_until 20 back
unlike "$(klog)" "tier 0 is empty" "nobody is told that it is empty"
dev_ok hdd
ok "then it becomes so" wait_until 60 gone
ok "what was there is right" right 0 30

# ---- a tier is emptied that has a block which can't be read ----
ok "create" new_tiers 64k "17 33 8 17" lru "migration off migration_rate 1000000 max_errors 1000000"
ok "write" write 0 32
is "$(tier 0 used)" 32 "all of it is on the first tier"
# behind its header its slots
ok "a slot can't be read" dev_bad ssd $((2048 + 5 * 128)) 128 read
ok "empty the tier" msg evacuate 0
one_left() { [ "$(tier 0 used)" = 1 ]; }
ok "all but one block go" wait_until 30 one_left
sleep 1
is "$(tier 0 used) $(tier 0 state) $(st health)" "1 evacuating rw" "it stays there"
n=$(tier 0 errors)
sleep 3
n=$(($(tier 0 errors) - n))
ok "it is tried again, but not all the time ($n errors in 3 s)" test $n -ge 1 -a $n -le 6
is "$(tier 0 stuck) $(tier 1 stuck) $(tier 2 stuck)" "1 0 0" "the status tells it"
like "$(klog)" "tier 0: 1 blocks can't be moved" "and the log"
code 8 "who waits is told" dmt evacuate --wait t0 0
like "$OUT" "t0: 1 blocks can't be moved while tier 0 is emptied, 1 are left: .*dmtier where.*Write these ranges anew, or discard them" "what and why"
is "$(tier 0 state)" evacuating "it goes on trying"
ok "other jobs get their turn" msg move 2 $((20 * 128)) $((4 * 128))
four_there() { [ "$(on_tier 2 20 4)" = 4 ]; }
ok "and are done" wait_until 20 four_there
first=$(where 0 4096 | awk '$3 == 0 { print $1 }')
ok "what is before it is right" right 0 $((first / 128))
ok "and what is behind it" right $((first / 128 + 1)) $((31 - first / 128))
ok "give it up" blkdiscard -o $((first * 512)) -l 65536 "$T0"
gone() { [ "$(tier 0 state)" = empty ]; }
code 0 "then who waits is told that the tier is empty" dmt evacuate --wait t0 0
is "$(tier 0 state) $(tier 0 stuck)" "empty 0" "it is"
ok "and the block zeros" zeros "$T0" "$first" 65536
dev_ok ssd

# ---- the same, with the other tier ----
ok "create" new_tiers 64k "17 33 8" lru "migration off migration_rate 1000000 max_errors 1000000"
ok "write" write 0 32
ok "nothing can be written to the other tier" dev_fail hdd write
code 8 "empty the tier, and wait" dmt evacuate --wait t0 0
like "$OUT" "32 blocks can't be moved while tier 0 is emptied, 32 are left" "it can't be done"
ok "it can be written to, but not flushed" dev_fail hdd flush
code 8 "nor then" dmt evacuate --wait t0 0
like "$OUT" "a device can't be flushed" "which is told"
dev_ok hdd
sync "$T0" || :		# that one may tell of the failure
code 0 "when that is over it can" dmt evacuate --wait t0 0
is "$(tier 0 state) $(tier 0 stuck)" "empty 0" "it is empty"
ok "all is right" right 0 32

# ---- no room ----
ok "create" new_tiers 64k "9 17 8" lru "migration_rate 1000000"
len=$(blockdev --getsz "$T0")
ok "write a little" write 0 16
ok "empty the first tier, for good" msg evacuate 0
ok "it is" wait_until 60 gone
code 1 "more than the other holds is not written" dd if=/dev/urandom of="$T0" bs=64k seek=16 count=$((len / 128 - 16)) oflag=direct conv=notrunc status=none
like "$OUT" "No space left on device" "ENOSPC"
ok "what is there stays" right 0 16
ok "and can be written" write 0 16
is "$(st health)" rw "health"
ok "remove" dmsetup remove t0
ok "metadata" check_tiers

# ---- the other tiers become full while one is emptied ----
# 20 blocks on the first tier, and the other one has room for some 60
ok "create" new_tiers 64k "3 5 8" lru "migration off migration_rate 128"
ok "write" write 0 20
ok "empty the first tier, slowly" msg evacuate 0
code 1 "the other one becomes full meanwhile" dd if="$WORK/noise" of="$T0" bs=64k seek=20 skip=20 count=70 oflag=direct conv=notrunc status=none
ok "set" msg set migration_rate 1000000
no_room() { [ "$(tier 0 stuck)" != 0 ]; }
ok "that there is no room is told" wait_until 60 no_room
is "$(tier 0 stuck) $(st health)" "$(tier 0 used) rw" "all that is left is stuck"
code 8 "who waits for it is told" timeout 60 "$DMTIER" evacuate --wait t0 0
like "$OUT" "or the other tiers are full" "and why"
ok "make room" blkdiscard -o $((20 * 65536)) "$T0"
ok "then it ends" wait_until 60 gone
ok "what was there is right" right 0 20
ok "remove" dmsetup remove t0
ok "metadata" check_tiers

# ---- a granule that was new in the place that is given up, and can't be read there: nothing of others shows up ----
parts() { for i in 0 1 2 3; do dd if="$NEW" of="$T0" bs=4k seek=$((i * 16 + $1)) count=1 oflag=direct conv=notrunc status=none || return; done; }	# GRANULE
write_only() { dd if="$NEW" of="$T0" bs=64k seek="$1" count=1 oflag=direct conv=notrunc status=none; }	# BLOCK
ok "create" new_tiers 64k "3 5 8" lru "migration off migration_rate 1000000 max_errors 1000000 commit_ms 60000" no_discard_passdown
ok "write" write 0 40
ok "durably" sync "$T0"
ok "on the first tier" on_first
ok "discard" blkdiscard -l $((8 * 65536)) "$T0"
ok "durably" sync "$T0"
ok "the slots are used again, by a part of a block each" parts 0
ok "durably" sync "$T0"
ok "on the first tier" on_first
ok "a commit is held up" hold_commit 60
ok "the blocks move" to_second
ok "and another part of each is written" parts 3
ok "a flush fails, and what was written can't be read" dev_fail hdd flush read
ok "go on" dmsetup resume meta
ok "the blocks are in their old places again" wait_until 20 on_first
ok "all is well again" dev_ok hdd
code 1 "the writers are told" sync "$T0"
ok "once" sync "$T0"
for i in 0 1 2 3; do
	ok "block $i: what was written last reads as before" zeros "$T0" $((i * 128 + 3 * 8)) 4096
	ok "and the rest" cmp -n 4096 -i $((i * 65536)):0 "$T0" "$NEW"
done

# ---- what is written while a move can be neither recorded nor taken back, and then can't be read, is not lost silently ----
ok "create" new_tiers 64k "3 5 8" lru "migration off migration_rate 1000000 max_errors 1000000 commit_ms 60000"
ok "write" write 0 60
ok "a commit is held up" hold_commit 60
ok "the blocks move" to_second
ok "they are written to" parts 3
ok "a flush fails" dev_fail hdd flush
ok "and the old places can't be written" dev_fail ssd write
ok "the timer commits" msg set commit_ms 200
ok "go on" dmsetup resume meta
sleep 2
code 1 "a flush fails" sync "$T0"
ok "the other tier is well again" dev_ok hdd
sleep 1
code 1 "a flush fails still" sync "$T0"
is "$(on_tier 1 0 4)" 4 "they are where they were"
ok "one is written to" write_only 2
n=$(tier 0 errors)
sleep 1
ok "it was tried to take them back" test "$(tier 0 errors)" -gt "$n"
ok "they can't be read any more" dev_fail hdd read
ok "the first tier is well again" dev_ok ssd
ok "the blocks are in their old places again" wait_until 20 on_first
ok "all is well again" dev_ok hdd
code 1 "who wrote is told that it is lost" sync "$T0"
ok "once" sync "$T0"
ok "what was there before is there" right 2 1

# ---- a write is under way while a flush fails, and ends before those who wait for that flush are told ----
ok "create" new_tiers 64k "3 5 8" lru "migration off migration_rate 1000000 max_errors 1000000 commit_ms 60000"
ok "write" write 0 60
is "$(on_tier 0 0 1) $(on_tier 1 50 2)" "1 2" "on both tiers"
ok "there is something to flush" dd if="$NEW" of="$T0" bs=4k seek=$((50 * 16)) count=1 oflag=direct conv=notrunc status=none
ok "and to record, of the other tier" msg pin 0 128
read -r _ sectors <"$LIB_STATE/hdd.map"
ok "flushes fail, writes take their time" dev_table hdd "$(lib_failing hdd 0 "$sectors" flush | awk '{ $9 = 2000; print }')"
ok "a commit takes longer" dmsetup suspend --nolockfs meta
dd if="$NEW" of="$T0" bs=4k seek=$((51 * 16)) count=1 oflag=direct conv=notrunc status=none &
writer=$!
sleep 0.7
sync "$T0" 2>/dev/null &
flush=$!
wait $writer
is $? 0 "a write"
ok "all is well again" dev_ok hdd
ok "go on" dmsetup resume meta
wait $flush
isnt $? 0 "who waits for the flush is told"
code 1 "so is who wrote meanwhile" sync "$T0"
ok "once" sync "$T0"
ok "remove" dmsetup remove t0
ok "metadata" check_tiers

done_testing
