# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=600
#
# A disk that was taken over with its data becomes a plain disk again: settle.
# shellcheck source=../tiered-lib.sh
. "${0%/*}/../tiered-lib.sh"
load_modules

BLOCKS=128			# whole ones on the disk, of 64 KiB
TAIL=70				# and sectors behind them
BYTES=$(((BLOCKS * 128 + TAIL) * 512))
FAST=(--policy lru --feature "migration off migration_rate 1000000 commit_ms 100")
SLOW=(--policy lru --feature "migration off migration_rate 128 commit_ms 100")

dmt() { within 120 "$DMTIER" "$@"; }
up() { dmt create "$@" t0 "$SSD" "$HDD" "$META"; }
log() { klog | grep -cF -- "$1"; }
state() { [ "$(tier 1 state)" = "$1" ]; }
# put FIRST-BLOCK SECTOR SECTORS	noise to the device and to the copy of it
put()
{
	local at=$(($1 * 128 + $2))

	head -c $(($3 * 512)) /dev/urandom >"$WORK/piece"
	dd if="$WORK/piece" of="$WORK/copy" bs=512 seek=$at conv=notrunc status=none
	dd if="$WORK/piece" of="$T0" bs=$(($3 * 512)) seek=$((at * 512)) oflag=direct,seek_bytes conv=notrunc status=none
}
# drop FIRST-BLOCK SECTOR SECTORS	a discard of whole granules
drop()
{
	local at=$(($1 * 128 + $2))

	dd if=/dev/zero of="$WORK/copy" bs=512 seek=$at count="$3" conv=notrunc status=none
	blkdiscard -o $((at * 512)) -l $(($3 * 512)) "$T0"
}
right() { cmp -n $BYTES "$T0" "$WORK/copy"; }
# nothing is left to be moved, and the slots that were left are free
moved() { wait_until 60 no_jobs && sync_t0; }
sync_t0() { dd if=/dev/zero of="$T0" bs=64k count=0 conv=fsync,notrunc status=none; }

setup_devs 6 $((BLOCKS * 128 + TAIL))s 8
head -c $BYTES /dev/urandom >"$WORK/copy"
dd if="$WORK/copy" of="$HDD" bs=1M oflag=direct status=none 2>/dev/null || dd if="$WORK/copy" of="$HDD" bs=512 status=none
ok "the disk has the data" cmp "$HDD" "$WORK/copy"
code 0 "format" dmt format --mode tiered --take-data --block-size 64k "$SSD" "$HDD" "$META"
code 0 "create" up "${FAST[@]}"
ok "its data are those of the disk" right

# ---- what is refused ----
nok "settle a tier with a header" msg settle 0
is "$(log "tier 0 has a header where block 0 would have to be")" 1 "and why"
nok "a tier that is not there" msg settle 2
ok "a block behind the disk's end" dd if="$WORK/copy" of="$T0" bs=64k seek=200 count=1 oflag=direct conv=notrunc status=none
code 8 "settle" dmt settle t0 1
like "$OUT" "1 blocks with data lie behind the end of tier 1, which has $((BYTES / 512)) sectors: shrink the file system" "and what to do"
ok "discard it" blkdiscard -o $((200 * 65536)) -l 65536 "$T0"
put $BLOCKS 72 8
code 8 "the same for what the last block has more than the disk" dmt settle t0 1
drop $BLOCKS 72 8
is "$(tier 1 state)" ok "nothing has begun"

# ---- off their places ----
scramble()
{
	local i b

	msg move 0 0 $((50 * 128)) && moved || return
	# each to a slot that another one has left
	for ((i = 0; i < 30; i += 6)); do msg move 1 $((i * 128)) 128 && wait_until 30 no_jobs || return; done
	moved || return
	msg move 0 $((75 * 128)) $((20 * 128)) && moved || return
	for b in 5 33 34 35 76 120; do drop $b 0 128 || return; done
	drop 40 8 48 && drop 100 64 64 || return
	for b in 5 34 76; do put $b 16 40 || return; done
	for b in 0 21 31 77 99 127; do put $b $((b % 64)) 11 || return; done
	put $BLOCKS 3 9
}
drop 120 0 128
ok "the end of the disk" msg move 1 $((BLOCKS * 128)) 128
moved
is "$(tier 1 used)" $BLOCKS "lies where a block without data has its place"
ok "blocks move up and down, are discarded and written to" scramble
ok "many are on the SSD" test "$(tier 0 used)" -gt 30
ok "all is right" right
code 0 "remove" dmt remove t0
ok "metadata" check_meta
nok "the disk alone has not all of it" cmp -n $BYTES "$HDD" "$WORK/copy"

# ---- settle, with a stop and landings meanwhile ----
code 0 "create, with slow moves" up "${SLOW[@]}"
code 0 "settle" dmt settle t0 1
is "$(tier 1 state)" settling "says the status"
ok "again is no error" msg settle 1
nok "nothing else is moved" msg promote 0 128
nok "nor is the SSD emptied" msg evacuate 0
left() { st settle_left; }
counted() { [ "$(left)" -gt 20 ]; }
ok "it says how many are left" wait_until 20 counted
ok "a block without data is written to" put 35 0 8
ok "a discard" blkdiscard -o $((10 * 65536)) -l $((20 * 65536)) "$T0"
ok "does nothing" right
code 0 "a stop meanwhile" dmt remove t0
code 0 "check" check_meta
like "$OUT" "tier 1 .*; is to be settled: [0-9]+ blocks are not in their place" "says so"
code 0 "create" up "${SLOW[@]}"
is "$(tier 1 state)" settling "it goes on"
ok "faster" msg set migration_rate 1000000
code 0 "wait for it" dmt settle --wait t0 1
is "$(tier 1 state) $(left) $(tier 1 used)" "settled 0 $BLOCKS" "settled"
ok "the log says so" test "$(log "tier 1 is settled")" -ge 1
ok "all is right" right
ok "a write" put 33 5 20
ok "of a whole block" put 77 0 128
ok "and to the end of the disk" put $BLOCKS 60 10
ok "it stays settled, or is so again" wait_until 10 state settled
ok "zeros" blkdiscard -z -o $((40 * 65536)) -l 65536 "$T0"
dd if=/dev/zero of="$WORK/copy" bs=64k seek=40 count=1 conv=notrunc status=none
is "$(tier 1 state)" settled "in place"
ok "a block behind the end" dd if="$WORK/copy" of="$T0" bs=64k seek=200 count=1 oflag=direct conv=notrunc status=none
beyond() { state settling && [ "$(left)" = 1 ] && no_jobs; }
ok "makes it unsettled" wait_until 10 beyond
code 8 "waiting for it says why" dmt settle --wait t0 1
like "$OUT" "1 blocks with data lie behind the end of tier 1" "..."
ok "discard it" blkdiscard -o $((200 * 65536)) -l 65536 "$T0"
ok "settled" wait_until 10 state settled
put $BLOCKS 72 8
ok "so does what the last block has more than the disk" wait_until 10 beyond
drop $BLOCKS 72 8
ok "settled" wait_until 10 state settled
put $BLOCKS 0 30
code 0 "stop, right behind a write to its end" dmt remove t0
ok "the disk alone is right" cmp -n $BYTES "$HDD" "$WORK/copy"
code 0 "check" check_meta
like "$OUT" "tier 1 .*; is settled: this disk alone holds" "says so"

# ---- back again ----
code 0 "create" up "${FAST[@]}"
ok "it is still settled" wait_until 10 state settled
drop $BLOCKS 40 16
code 0 "stop, right behind a discard of its end" dmt remove t0
ok "the disk alone is right" cmp -n $BYTES "$HDD" "$WORK/copy"
code 0 "create" up "${FAST[@]}"
ok "keep it" msg keep 1
is "$(tier 1 state)" ok "it is a tier as before"
ok "blocks move" msg move 0 0 1280
moved
is "$(tier 0 used)" 11 "to the SSD"
ok "all is right" right
code 0 "remove" dmt remove t0
code 0 "check" check_meta
nok "no word of settling" grep -q settled <<<"$OUT"

drop_devs
done_testing
