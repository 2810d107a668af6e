# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=900
# vmtap: ignore=Buffer I/O error|I/O error, dev
#
# Tiered mode: thin, landing, moves, pins, a full device, discards, three tiers, what a restart keeps.
# shellcheck source=../tiered-lib.sh
. "${0%/*}/../tiered-lib.sh"
load_modules

write() { dd if="$WORK/noise" of="$T0" bs=64k seek="$1" count="$2" oflag=direct conv=notrunc status=none; }
head -c 128M /dev/urandom >"$WORK/noise"

# ---- thin ----
ok "create" new_tiers 64k "17 64 8" lru "migration off"
LEN=$(blockdev --getsz "$T0")
is "$LEN" $(((16 * 16 + 63 * 16 - 2 * 2 - 1) * 128)) "its length is that of the usable slots" || :
is "$(st used)" "0/$((16 * 16 + 63 * 16))" "nothing is used"
ok "all of it reads as zeros" zeros "$T0" 0 $((LEN * 512))
is "$(tier 0 reads) $(tier 1 reads)" "0 0" "without a read of any device"
ok "a write" write 3 1
is "$(tier 0 used) $(tier 1 used)" "1 0" "takes one slot, on the first tier"
is "$(where 0 1024)" "0 384 - -
384 128 0 -
512 512 - -" "where"
is "$(tier 0 landings)" 1 "one landing"
# a part of a granule that nobody wrote to
ok "a write of a sector" dd if="$WORK/noise" of="$T0" bs=512 seek=1283 count=1 oflag=direct conv=notrunc status=none
ok "before it zeros" zeros "$T0" 1280 1536
ok "behind it zeros" zeros "$T0" 1284 2048
ok "and it" cmp -n 512 -i $((1283 * 512)):0 "$T0" "$WORK/noise"

# ---- landing ----
ok "more than the first tier holds" write 16 300
is "$(tier 0 used)" $((16 * 16 - 2)) "the first tier is full but for the slots kept for moves"
is "$(($(tier 0 used) + $(tier 1 used)))" 302 "the rest is on the second"
ok "all is right" cmp -n $((300 * 65536)) -i $((16 * 65536)):0 "$T0" "$WORK/noise"

# ---- moves by hand ----
first=$(where 0 "$LEN" | awk '$3 == 1 { print $1; exit }')
ok "promote" msg promote "$first" 256
ok "ends" wait_until 20 no_jobs
comes_to "$first 256 0 -" "both blocks are on the first tier, though it was full" where "$first" 256
ok "demote" msg demote "$first" 128
ok "ends" wait_until 20 no_jobs
comes_to "$first 128 1 -
$((first + 128)) 128 0 -" "one is back" where "$first" 256
ok "move" msg move 1 384 128
ok "ends" wait_until 20 no_jobs
comes_to "384 128 1 -" "moved" where 384 128
ok "all is right" cmp -n $((300 * 65536)) -i $((16 * 65536)):0 "$T0" "$WORK/noise"
ok "pin" msg pin 384 128
is "$(where 384 128)" "384 128 1 pinned" "pinned"
is "$(tier 1 pinned)" 1 "counted"
nok "no such tier" msg move 2 0 128

# ---- restart ----
before=$(where 0 "$LEN")
ok "remove" dmsetup remove t0
ok "metadata" check_tiers
ok "create again" tiers_up lru "migration off"
is "$(where 0 "$LEN")" "$before" "every block is where it was, and pinned if it was"
ok "all is right" cmp -n $((300 * 65536)) -i $((16 * 65536)):0 "$T0" "$WORK/noise"

# ---- discard ----
ok "discard of some" blkdiscard -o $((16 * 65536)) -l $((100 * 65536)) "$T0"
ok "zeros" zeros "$T0" $((16 * 128)) $((100 * 65536))
is "$(($(tier 0 used) + $(tier 1 used)))" 202 "its slots are free"
ok "of a part of a block" blkdiscard -o $((200 * 65536)) -l 8192 "$T0"
ok "zeros" zeros "$T0" $((200 * 128)) 8192
ok "no more" cmp -n $((65536 - 8192)) -i $((200 * 65536 + 8192)):$((184 * 65536 + 8192)) "$T0" "$WORK/noise"
ok "of all" blkdiscard "$T0"
is "$(st used | cut -d/ -f1)" 0 "nothing is used"
ok "zeros" zeros "$T0" 0 $((LEN * 512))

# ---- full ----
ok "every sector is written" dd if="$WORK/noise" of="$T0" bs=1M count=$((LEN / 2048)) oflag=direct conv=notrunc status=none
rest=$((LEN % 2048))
[ $rest = 0 ] || dd if="$WORK/noise" of="$T0" bs=64k seek=$(((LEN - rest) / 128)) skip=$(((LEN - rest) / 128)) count=$((rest / 128)) \
	oflag=direct conv=notrunc status=none
is "$(st used | cut -d/ -f1)" $((LEN / 128)) "every block has a slot"
ok "all is right" cmp -n $((LEN * 512)) "$T0" "$WORK/noise"
ok "automatic moves" msg set migration continuous
first=$(where 0 "$LEN" | awk '$3 == 1 { print $1; exit }')
ok "promote, with everything full" msg promote "$first" 2560
ok "ends" wait_until 60 no_jobs
sleep 2
# the policy may have chosen some of them when it made room for the others
up=$(where "$first" 2560 | awk '{ n += $3 == 0 ? $2 : 0 } END { print n / 128 }')
[ "$up" -ge 15 ]
is $? 0 "of 20 blocks $up are on the first tier"
is "$(($(tier 0 used) + $(tier 1 used)))" $((LEN / 128)) "no block is lost"
ok "all is right" cmp -n $((LEN * 512)) "$T0" "$WORK/noise"
ok "remove" dmsetup remove t0
ok "metadata" check_tiers

# ---- everything at once ----
do_move() { msg move $((RANDOM % (${#TIERS[@]} + 2))) $((RANDOM * 2 % (len - 4096))) $((1 + RANDOM % 4096)); }
do_promote() { msg promote $((RANDOM * 2 % (len - 4096))) $((1 + RANDOM % 4096)); }
do_demote() { msg demote $((RANDOM * 2 % (len - 4096))) $((1 + RANDOM % 4096)); }
do_pin() { msg pin $((RANDOM * 2 % (len - 4096))) $((1 + RANDOM % 512)) && msg unpin 0 "$len"; }
do_where() { where 0 "$len" >/dev/null; }
do_policy() { msg policy "$(printf '%s\n' lru hotspot clock2q builtin | shuf -n 1)"; }
do_status() { dmsetup status t0 >/dev/null && dmsetup table t0 >/dev/null; }
do_suspend() { dmsetup suspend --nolockfs t0 && dmsetup resume t0; }
do_set() { msg set free_low $((RANDOM % 10)) && msg set free_high $((21 + RANDOM % 50)) && msg set commit_ms $((10 + RANDOM % 200)); }
# none is lost: those that moves leave are free again
all_slots() { msg set migration off && no_jobs && [ $(($(st used | cut -d/ -f1) + $(st free))) = "$(st used | cut -d/ -f2)" ]; }
actions=(move promote demote pin where policy status suspend set)

for sizes in "17 33 8" "5 9 8 33"; do
	ok "create, $sizes" new_tiers 64k "$sizes" hotspot "migration_rate 1000000"
	len=$(blockdev --getsz "$T0")
	get_tiers
	"$IOSTRESS" run --seconds "${SECONDS_EACH:-5}" --seed $RANDOM --granule 8 --discards 3 "$T0" "$WORK/state" >"$WORK/log" 2>&1 &
	pid=$! bad='' n=0
	while kill -0 $pid 2>/dev/null; do
		action=${actions[RANDOM % ${#actions[@]}]}
		"do_$action" >"$WORK/action" 2>&1 || bad+="$action: $(cat "$WORK/action")"$'\n'
		n=$((n + 1))
	done
	wait $pid
	is $? 0 "I/O beside everything" || diag <"$WORK/log"
	is "$bad" '' "no message fails"
	diag "$n times, $(head -1 "$WORK/log"), $(dmsetup status t0)"
	ok "verify" "$IOSTRESS" verify "$T0" "$WORK/state"
	ok "when it has come to rest each slot is free or in use" wait_until 60 all_slots
	ok "remove" dmsetup remove t0
	ok "metadata" check_tiers
	ok "create again" tiers_up
	ok "verify again" "$IOSTRESS" verify "$T0" "$WORK/state"
	is "$(st health)" rw "health"
done

# ---- a tier is emptied ----
ok "make room" blkdiscard -o $((len * 256)) -l $((len * 256)) "$T0"
ok "there it is" wait_until 60 all_slots
ok "empty the first tier" msg evacuate 0
first_empty() { [ "$(tier 0 state)" = empty ]; }
ok "it becomes empty" wait_until 60 first_empty
is "$(tier 0 used)" 0 "has nothing"
ok "a write" dd if="$WORK/noise" of="$T0" bs=64k count=4 oflag=direct conv=notrunc status=none
is "$(tier 0 used)" 0 "nothing lands there"
ok "remove" dmsetup remove t0
ok "metadata" check_tiers

done_testing
