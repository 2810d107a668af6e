# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=900
#
# Tiered mode: what it does by itself.  Where streams, random writes and bursts land, the watermarks, of all tiers and
# of one, the rate of moves and who waits for them, what policies move up, and when: never, at any time, when idle, in
# rounds, and not while requests are slow.
# shellcheck source=../tiered-lib.sh
. "${0%/*}/../tiered-lib.sh"
load_modules

RATE="migration_rate 1000000"
head -c 64M /dev/urandom >"$WORK/noise"

write() { dd if="$WORK/noise" of="$T0" bs=64k seek="$1" skip="$1" count="$2" oflag=direct conv=notrunc status=none; }	# BLOCK COUNT
scattered()	# FIRST COUNT STEP	blocks
{
	local i
	for ((i = 0; i < $2; i++)); do write $(($1 + i * $3)) 1 || return; done
}
touch_blocks()	# FIRST COUNT	so that hotspot's window sees several touches
{
	local i
	for i in 1 2 3 4; do
		dd if="$T0" of=/dev/null bs=64k skip="$1" count="$2" iflag=direct status=none || return
		sleep 0.05
	done
}
is_up() { [ "$(on_tier 0 "$1" "$2")" = "$2" ]; }
rises() { touch_blocks "$@" && is_up "$@"; }
used_at_most() { [ "$(tier "$1" used)" -le "$2" ]; }

# ---- landing ----
ok "create" new_tiers 64k "17 65 8" "seqbypass next lru" "migration off $RATE"
ok "a stream of 8 MiB" write 0 128
first=$(tier 0 landings)
[ "$first" -ge 8 ] && [ "$first" -le 32 ]
is $? 0 "what is behind its first MiB lands on the second tier ($first of 128 blocks on the first)"
is "$(tier 1 landings)" $((128 - first)) "all of that"
ok "streams land on the first" msg set sequential_landing 0
ok "another stream" write 256 64
is "$(tier 0 landings)" $((first + 64)) "is there"
ok "or on the last, by a large number" msg set sequential_landing 15
ok "scattered writes" scattered 512 40 3
is "$(tier 0 landings)" $((first + 64 + 40)) "land on the first in any case"
ok "one more stream" write 700 64
[ "$(tier 0 landings)" -le $((first + 64 + 40 + 32)) ]
is $? 0 "is on the second"

# ---- watermarks ----
ok "create" new_tiers 64k "5 33 8" lru "free_low 10 free_high 30 $RATE"
slots=$(tier 0 slots)
ok "fill the first tier up to the low watermark" scattered 0 $((slots * 88 / 100)) 3
is "$(tier 1 landings) $(tier 0 out)" "0 0" "nothing went to the second"
ok "and somewhat further" scattered 1 $((slots * 6 / 100)) 3
is "$(tier 1 landings)" 0 "all of it found room"
# and what was written since
ok "until as much is free as the high watermark says" wait_until 30 used_at_most 0 $((slots * 78 / 100))
sleep 0.5
[ "$(tier 0 used)" -ge $((slots * 65 / 100)) ]
is $? 0 "and no more ($(tier 0 used) of $slots are used)"
ok "a watermark of the first tier alone" msg set free_high.0 80
ok "and where it begins" msg set free_low.0 70
ok "it is emptied more" wait_until 30 used_at_most 0 $((slots * 21 / 100))
is "$(tier 1 out)" 0 "the other is as it was"
like "$(dmsetup table t0)" " free_low.0 70 free_high.0 80 " "the table says so"

# ---- a burst larger than the first tier, which is being emptied at a block a second ----
took() { local begin=$EPOCHREALTIME; "$@"; echo $((10#${EPOCHREALTIME/./} / 1000 - 10#${begin/./} / 1000)); }	# ms
ok "create" new_tiers 64k "5 33 8" lru "free_low 10 free_high 30 migration_rate 64"
slots=$(tier 0 slots)
ms=$(took write 0 300)
out=$(tier 0 out)
[ "$out" -lt 30 ]
is $? 0 "300 blocks are written in $ms ms, while $out were demoted"
is "$(($(tier 0 landings) + $(tier 1 landings)))" 300 "all of them landed"
[ "$(tier 0 landings)" -le $((slots + 30)) ]
is $? 0 "those that were too many for the first tier on the second"

# ---- the rate of moves ----
ok "create" new_tiers 64k "17 33 8" lru "migration off migration_rate 640"
write 0 100
ms=$(took sh -c "dmsetup message t0 0 move 1 0 12800; until dmsetup status t0 | grep -q ' jobs 0 '; do sleep 0.1; done")
[ "$ms" -ge 7000 ] && [ "$ms" -le $((30000 * LIB_SLOW)) ]
is $? 0 "100 blocks at 10 a second took $ms ms"

# ---- requests beside moves: one waits for the copy of its own block, and no other ----
ok "create" new_tiers 64k "17 33 8" lru "migration off $RATE"
write 0 64
msg move 1 0 $((32 * 128))
ok "half of them to the second tier" wait_until 30 no_jobs
comes_to 32 "they are there" on_tier 1 0 32
dev_slow hdd $((3000 * LIB_SLOW)) 0
begin=$EPOCHREALTIME
ok "up again, where each copy takes 3 s or more" msg move 0 0 $((32 * 128))
sleep 0.5
ms=$(took write 40 1)
[ "$ms" -lt $((1500 * LIB_SLOW)) ]
is $? 0 "a write to another block of the first tier takes $ms ms"
ms=$(took write 31 1)
[ "$ms" -lt $((1500 * LIB_SLOW)) ]
is $? 0 "one to a block whose turn has not come $ms ms"
ms=$(took write 0 1)
[ "$ms" -lt $((4500 * LIB_SLOW)) ]
is $? 0 "one to a block that is being moved $ms ms"
ok "end" wait_until 60 no_jobs
all=$((10#${EPOCHREALTIME/./} / 1000 - 10#${begin/./} / 1000))
[ "$all" -gt $((6000 * LIB_SLOW)) ]
is $? 0 "all the moves took $all ms"
dev_ok hdd
is "$(on_tier 0 0 64)" 64 "they are there"
ok "all is right" cmp -n $((64 * 65536)) "$T0" "$WORK/noise"

# ---- what policies want, and when ----
ok "create" new_tiers 64k "17 65 8" hotspot "migration off idle_ms 2000 $RATE"
ok "write" write 0 200
ok "to the second tier" msg move 1 0 25600
ok "ends" wait_until 60 no_jobs
comes_to 200 "all is there" on_tier 1 0 200
ok "off: some become hot" touch_blocks 0 10
sleep 0.5
is "$(on_tier 0 0 200)" 0 "and nothing moves"
ok "continuous" msg set migration continuous
ok "they move up" wait_until 20 rises 0 10
is "$(on_tier 0 10 190)" 0 "the others don't"

ok "idle" msg set migration idle
repeat dd if="$T0" of=/dev/null bs=4k skip=$((150 * 16)) count=1 iflag=direct status=none
touch_blocks 20 10
sleep 1
is "$(on_tier 0 20 10)" 0 "while there are requests nothing moves"
stop_repeating
ok "without them they do" wait_until 20 is_up 20 10
repeat dd if="$T0" of=/dev/null bs=4k count=1 iflag=direct status=none
touch_blocks 30 10
sleep 4
is "$(on_tier 0 0 1) $(on_tier 0 30 10)" "1 0" "requests to the first tier count, too"
stop_repeating
ok "without them they move" wait_until 20 is_up 30 10

ok "in rounds" msg set migration 3600
sleep 1
touch_blocks 40 10
sleep 1
is "$(on_tier 0 40 10)" 0 "the first is over, and nothing moves until the next"
ok "with less time between them" msg set migration 2
ok "they move" wait_until 20 rises 40 10
ok "continuous again" msg set migration continuous
ok "as others do" wait_until 20 rises 50 10

ok "yield to requests slower than 5 ms" msg set yield_ms 5
ok "to those of blocks that stay where they are" msg pin $((100 * 128)) 6400
dev_slow hdd 20
dd if="$T0" of=/dev/null bs=4k skip=1760 count=700 iflag=direct status=none &
reader=$!
sleep 2
touch_blocks 60 10
sleep 1
is "$(on_tier 0 60 10)" 0 "nothing moves beside them"
kill -0 $reader
is $? 0 "they went on all the time"
kill $reader; wait $reader 2>/dev/null
dev_ok hdd
ok "without them it does" wait_until 20 rises 60 10
ok "all is right" cmp -n $((200 * 65536)) "$T0" "$WORK/noise"
ok "remove" dmsetup remove t0
ok "metadata" check_tiers

done_testing
