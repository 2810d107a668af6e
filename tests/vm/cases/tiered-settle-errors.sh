# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=600
# vmtap: ignore=Buffer I/O error|I/O error, dev
#
# A disk below two other tiers becomes a plain disk again, and has errors meanwhile: what it can't take stays where it
# is, and all of it comes as soon as it can.
# shellcheck source=../tiered-lib.sh
. "${0%/*}/../tiered-lib.sh"
load_modules

BLOCKS=128			# whole ones on the disk, of 64 KiB
TAIL=70				# and sectors behind them
BYTES=$(((BLOCKS * 128 + TAIL) * 512))

dmt() { within 120 "$DMTIER" "$@"; }
up() { dmt create --policy lru --feature "migration off migration_rate 1000000 commit_ms 100 max_errors 1000000" t0 "$SSD" "$SSD2" "$META" "$HDD"; }
state() { [ "$(tier 2 state)" = "$1" ]; }
left() { st settle_left; }
left_is() { state settling && [ "$(left)" = "$1" ]; }
# put BLOCK SECTOR SECTORS	noise to the device and to the copy of it
put()
{
	local at=$(($1 * 128 + $2))

	head -c $(($3 * 512)) /dev/urandom >"$WORK/piece"
	dd if="$WORK/piece" of="$WORK/copy" bs=512 seek=$at conv=notrunc status=none
	dd if="$WORK/piece" of="$T0" bs=$(($3 * 512)) seek=$((at * 512)) oflag=direct,seek_bytes conv=notrunc status=none
}
right() { cmp -n $BYTES "$T0" "$WORK/copy"; }
part_right() { same_blocks "$T0" "$1" "$2" "$WORK/copy"; }	# BLOCK COUNT
alone() { blockdev --flushbufs "$HDD"; cmp -n $BYTES "$HDD" "$WORK/copy"; }
moved() { wait_until 60 no_jobs && sync "$T0"; }
# at_home BLOCK COUNT		on the disk
at_home() { [ "$(on_tier 2 "$1" "$2")" = "$2" ]; }
keep() { msg keep 2 && [ "$(tier 2 state)" = ok ]; }

setup_devs 6 6 8 $((BLOCKS * 128 + TAIL))s
SSD2=$HDD HDD=/dev/mapper/tier1
printf '%s\n' "$HDD" >"$WORK/tiers"
head -c $BYTES /dev/urandom >"$WORK/copy"
dd if="$WORK/copy" of="$HDD" bs=$((38 * 512)) oflag=direct status=none	# so that nothing is left over
code 0 "format" dmt format --mode tiered --take-data --block-size 64k "$SSD" "$SSD2" "$META" "$HDD"
code 0 "create" up
ok "its data are those of the disk" right

scramble()
{
	msg move 0 0 $((40 * 128)) && moved && msg move 1 $((60 * 128)) $((40 * 128)) && moved &&
		msg move 2 $((61 * 128)) 128 && moved && msg move 2 $((63 * 128)) 128 && moved &&
		msg move 2 0 $((8 * 128)) && moved
}
ok "blocks go to both other tiers, and back to others' places" scramble
ok "many are on the first tier" test "$(tier 0 used)" -gt 25
ok "and on the second" test "$(tier 1 used)" -gt 30
put 10 3 20
put 70 0 128
ok "all is right" right

# ---- three tiers, no errors ----
nok "the middle one has a header" msg settle 1
code 0 "settle" dmt settle --wait t0 2
is "$(tier 2 state) $(left) $(tier 2 used)" "settled 0 $BLOCKS" "settled"
ok "all is right" right
code 0 "stop" dmt remove t0
ok "the disk alone is right" alone
code 0 "check" dmt check "$SSD" "$SSD2" "$META" "$HDD"
like "$OUT" "tier 2 .*; is settled: this disk alone holds" "says so"

# ---- blocks that can't be written to ----
code 0 "create" up
ok "keep it" keep
ok "away again" scramble
ok "a block is discarded" blkdiscard -o $((22 * 65536)) -l 65536 "$T0"
dd if=/dev/zero of="$WORK/copy" bs=64k seek=22 count=1 conv=notrunc status=none
sync "$T0"
ok "places of four blocks can't be written to" dev_bad tier1 $((20 * 128)) $((4 * 128)) write
before=$(tier 2 errors)
ok "settle" msg settle 2
ok "all but these come" wait_until 60 left_is 4
ok "and are right" right
isnt "$(tier 2 errors)" "$before" "errors are counted"
is "$(tier 0 errors) $(tier 1 errors) $(st health)" "0 0 rw" "of this tier, and nothing else has happened"
code 8 "who waits is told" dmt settle --wait t0 2
like "$OUT" "t0: [1-4] blocks can't be moved while tier 2 is settled, 4 are left: .*the kernel log names" "what and why"
isnt "$(tier 2 stuck)" 0 "the status tells it, too"
like "$(klog)" "tier 2: (move|write) error, tier sector" "the log names them"
ok "writes are done" put 21 0 50
ok "also to those that are in their places" put 50 7 9
ok "a flush" sync "$T0"
ok "right" right
n=$(tier 2 errors)
sleep 3
ok "it is tried again, but not all the time ($(($(tier 2 errors) - n)) errors in 3 s)" test $(($(tier 2 errors) - n)) -le 40
code 0 "a stop meanwhile" dmt remove t0
code 0 "check" dmt check "$SSD" "$SSD2" "$META" "$HDD"
like "$OUT" "tier 2 .*; is to be settled: 4 blocks are not in their place" "says so"
code 0 "create" up
ok "the same four are missing" wait_until 60 left_is 4
ok "the disk is mended" dev_ok tier1
ok "they come" wait_until 30 state settled
ok "all is right" right
code 0 "stop" dmt remove t0
ok "the disk alone is right" alone

# ---- a block that is in its place can't be written to any more ----
code 0 "create" up
ok "it is still settled" wait_until 20 state settled
ok "a place can't be written to" dev_bad tier1 $((90 * 128)) 128 write
ok "a write there is done" put 90 0 128
ok "elsewhere, so it isn't settled" wait_until 10 left_is 1
ok "another write" put 90 5 5
ok "right" right
ok "the disk is mended" dev_ok tier1
ok "it is settled again" wait_until 30 state settled

# ---- the end of the disk ----
ok "the disk's end can't be written to" dev_bad tier1 $((BLOCKS * 128)) $TAIL write
ok "a write to it is done" put $BLOCKS 3 9
sleep 2
is "$(tier 2 state)" settling "but it isn't settled"
code 8 "who waits is told" dmt settle --wait t0 2
like "$OUT" "1 blocks can't be moved while tier 2 is settled" "why"
ok "right" right
ok "the disk is mended" dev_ok tier1
code 0 "who waits is told that it is settled again" dmt settle --wait t0 2
is "$(tier 2 stuck)" 0 "and nothing is stuck"
code 0 "stop" dmt remove t0
ok "the disk alone is right" alone

# ---- blocks that can't be read ----
code 0 "create" up
ok "keep it" keep
ok "away again" scramble
at=$(where 0 $((BLOCKS * 128)) | awk '$3 == 2 { print $1 / 128; exit }')
diag "block $at is on the disk"
ok "nothing can be read from some of the disk" dev_bad tier1 $((60 * 128)) $((40 * 128)) read
before=$(tier 2 errors)
ok "settle" msg settle 2
sleep 4
is "$(tier 2 state)" settling "it can't be settled"
isnt "$(tier 2 errors)" "$before" "because of that"
code 8 "who waits is told" dmt settle --wait t0 2
like "$OUT" "blocks can't be moved while tier 2 is settled" "why"
ok "what lies elsewhere is right" part_right 20 30
ok "the disk is mended" dev_ok tier1
ok "it is settled" wait_until 30 state settled
ok "all is right" right

# ---- flushes ----
ok "keep it" keep
ok "away again" scramble
ok "the disk can't be flushed" dev_fail tier1 flush
ok "settle" msg settle 2
sleep 3
is "$(tier 2 state)" settling "nothing is believed to be in its place"
code 8 "who waits is told" dmt settle --wait t0 2
like "$OUT" "a device can't be flushed" "why"
ok "all is right" right
ok "the disk is mended" dev_ok tier1
sync "$T0" || :		# that one may tell of the failure
ok "it is settled" wait_until 30 state settled
ok "all is right" right

# ---- all of the disk ----
ok "keep it" keep
ok "away again" scramble
n=$(tier 0 used)
ok "the disk fails" dev_fail tier1 all
ok "settle" msg settle 2
sleep 2
is "$(tier 2 state) $(st health)" "settling rw" "it is tried"
code 8 "who waits is told" dmt settle --wait t0 2
ok "not to wait for so many errors" msg set max_errors 8
code 8 "nor is waited for a tier that rests" dmt settle --wait t0 2
like "$OUT" "tier 2 is failing after [0-9]+ errors" "since it fails"
ok "as before" msg set max_errors 1000000
ok "what is on the others is right" part_right 20 15
ok "a write to it" put 25 0 128
ok "the disk is mended" dev_ok tier1
sync "$T0" || :
ok "after a minute without errors it is settled" wait_until 150 state settled
ok "all is right" right
is "$(tier 2 used)" $BLOCKS "all blocks are there"
code 0 "stop" dmt remove t0
ok "the disk alone is right" alone
code 0 "check" dmt check "$SSD" "$SSD2" "$META" "$HDD"
like "$OUT" "tier 2 .*; is settled" "says so"

drop_devs
done_testing
