#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# dmtier check: what it counts, and every kind of damage: what it says, and the exit code.
. "$(dirname "$0")/common.sh"

images 20M 64M 4M
"$DMTIER" format ssd hdd meta >/dev/null
cp meta good
cp ssd good-ssd

fresh()
{
	cp good meta
	cp good-ssd ssd
}

# CODE VERDICT REGEX DESCRIPTION: check of all three devices; both forms of output
verdict()
{
	run "$DMTIER" check ssd hdd meta
	is "$RC" "$1" "$4: exit code $1" || diag "$OUT" "$ERR"
	like "$OUT$ERR" "$3" "... says why"
	run "$DMTIER" check --json ssd hdd meta
	is "$RC $(field .verdict)" "$1 $2" "... JSON agrees"
	json_ok "... and is JSON"
}

# ---- nothing wrong ----
verdict 0 good "meta: good" "fresh metadata"
before=$(sums ssd hdd meta)
run "$DMTIER" check ssd hdd meta
is "$(sums ssd hdd meta)" "$before" "check writes nothing"
for s in 0 253 254 300; do
	meta_edit meta slot $s $((s + 7)) f 3
done
meta_edit meta slot 1 1 1 0 3
run "$DMTIER" check --json meta
is "$(field '[.used_slots, .dirty_slots, .dirty_granules, .pinned_slots] | join(" ")')" "5 4 8 1" \
	"slots, dirty granules and pins are counted"
is "$(field .clean)" true "the stop was clean"
run "$DMTIER" check meta
like "$OUT" "5 of 1[0-9]* used, 4 dirty \(32 KiB\), 1 pinned" "... and told"

# ---- damage to one copy: the other one is good ----
for kind in "sb 0 0 superblock" "sb 0 1 superblock" "intent 0 0 intent page" "intent 0 1 intent page" \
	"slot 0 0 slot page" "slot 0 1 slot page" "slot 3 0 slot page" "slot 3 1 slot page"; do
	read -r what n copy name <<<"$kind"
	for how in flip flip-tail zero; do
		fresh
		at=$(offset_of meta "$what" "$n" "$copy")
		case $how in
		flip) flip meta $((at + 40)) ;;
		flip-tail) flip meta $((at + 4000)) ;;
		zero) zero_block meta "$at" ;;
		esac
		block=$((at / 4096))
		verdict 4 recoverable "recoverable: $name, metadata block $block, copy $([ "$copy" = 0 ] && echo A || echo B): .*other copy is good" \
			"$how of $name $n, copy $copy"
	done
done

# ---- damage to both ----
for kind in "intent 0 intent page" "slot 0 slot page" "slot 4 slot page"; do
	read -r what n name <<<"$kind"
	fresh
	flip meta $(($(offset_of meta "$what" "$n" 0) + 50))
	flip meta $(($(offset_of meta "$what" "$n" 1) + 60))
	verdict 4 damaged "error: $name, .*the other copy is bad too" "both copies of $name $n"
done
fresh
flip meta 50
flip meta 65600
verdict 4 damaged "both copies of the superblock are damaged" "both superblocks"
fresh
flip meta 50
zero_block meta 65536
verdict 4 damaged "damaged" "one superblock damaged, one blank"

# ---- pages in the wrong place ----
fresh
copy_block meta "$(offset_of meta slot 1 0)" "$(offset_of meta slot 2 0)"
verdict 4 recoverable "copy A: belongs to another place; the other copy is good" "slot page 1 where 2 should be"
fresh
copy_block meta "$(offset_of meta slot 1 0)" "$(offset_of meta slot 2 0)"
copy_block meta "$(offset_of meta slot 1 0)" "$(offset_of meta slot 2 1)"
verdict 4 damaged "belongs to another place; the other copy is bad" "... in both copies"
fresh
copy_block meta "$(offset_of meta sb 0 0)" "$(offset_of meta sb 0 1)"
verdict 4 recoverable "superblock.*belongs to another place" "superblock copied over the other"
# of another tier device: the checksum's seed is the UUID's
image ssd2 20M
image meta2 4M
"$DMTIER" format ssd2 hdd meta2 >/dev/null
fresh
at=$(offset_of meta slot 1 1)
dd if=meta2 of=meta bs=4096 count=1 skip=$((at / 4096)) seek=$((at / 4096)) conv=notrunc status=none
verdict 4 recoverable "copy B: checksum does not match" "slot page of another tier device"
fresh
dd if=meta2 of=meta bs=4096 count=1 skip=16 seek=16 conv=notrunc status=none
verdict 4 damaged "copies of the superblock belong to different tier devices" "superblock of another tier device"

# ---- stale pages ----
fresh
meta_edit meta sb tail_txn 9
meta_edit meta sb head_txn 8
meta_edit meta page slot 0 0 seq 8
verdict 4 recoverable "copy B: is older than the other copy: a write to it was lost" "lost write"
meta_edit meta page slot 0 1 seq 9
verdict 4 recoverable "copy B: is newer than the end of the journal; the other copy is good" "page newer than the journal"
meta_edit meta page slot 0 1 seq 8
verdict 0 good good "... put right"
meta_edit meta page slot 0 1 payload 0x0001000000000005
verdict 4 damaged "copy B: differs from copy A, and neither is newer" "same sequence number, other content"

# ---- records ----
fresh
meta_edit meta page slot 1 0 payload 0x0001ffffffffffff
meta_edit meta page slot 1 1 payload 0x0001ffffffffffff
verdict 4 damaged "holds a record that makes no sense" "block beyond the device"
fresh
meta_edit meta page slot 1 0 payload 0x8001000000000001
verdict 4 recoverable "holds a record that makes no sense; the other copy is good" "unknown flag in one copy"
fresh
meta_edit meta slot 5 100 f 0
meta_edit meta slot 700 100 f 0
verdict 4 damaged "error: mapping: slots 5 and 700 both claim block 100" "a block in two slots"
fresh
meta_edit meta slot 507 100 f 0
meta_edit meta page slot 1 0 nr 253
verdict 4 recoverable "wrong number of records" "page with a wrong number of records"
fresh
meta_edit meta page slot 1 1 nr 100
verdict 0 good good "a change of size that was cut short wrote one copy of a page"
meta_edit meta page slot 1 0 nr 100
verdict 0 good good "a change of size that was cut short left a page with less records"
meta_edit meta slot 400 100 f 0
verdict 4 damaged "wrong number of records" "... but not one with records behind its end"
fresh
meta_edit ssd header nr_slots 5
verdict 0 good good "header with the number of slots from before a change of size"

# ---- flags and intents ----
fresh
meta_edit meta intent 3
verdict 4 damaged "1 regions are marked although the last stop was clean" "intent after a clean stop"
meta_edit meta sb flags 0
verdict 0 good "last stop +not clean" "intent after a power cut"
fresh
meta_edit meta sb flags 8
verdict 0 good "the next start drops all clean copies" "clean copies that are suspect"
meta_edit meta sb flags 9
verdict 4 damaged "clean copies are still to be dropped" "... but not after a clean stop"
fresh
meta_edit meta sb flags 2
verdict 4 damaged "marked \"needs check\"" "needs_check"
dmtier_is 1 "... can be taken off" check --clear-needs-check --json ssd hdd meta
json_ok "... and is JSON"
is "$(field '[.verdict, .exit_code, .needs_check, .mark_cleared] | join(" ")')" "good 1 false true" "... and then all is good"
verdict 0 good "good" "... from then on"
dmtier_is 0 "... and not a second time" check --clear-needs-check meta
for copy in 0 1; do
	fresh
	meta_edit meta sb flags 2
	flip meta $(($(offset_of meta sb 0 $copy) + 40))
	dmtier_is 4 "... with a bad copy $copy of the superblock" check meta
	dmtier_is 1 "... it is taken off, and the copy made good" check --clear-needs-check meta
	verdict 0 good "good" "... all of it"
done
fresh
meta_edit meta sb flags 2
meta_edit meta slot 1 20000 1 0
before=$(sums ssd hdd meta)
dmtier_is 4 "... not with other damage" check --clear-needs-check meta
like "$ERR" "is damaged: the mark .* stays" "... which is told"
is "$(sums ssd hdd meta)" "$before" "... and nothing is written"
fresh
meta_edit meta sb flags 2
dd if=/dev/zero of=ssd bs=4k count=1 conv=notrunc status=none
dmtier_is 8 "... nor with another SSD" check --clear-needs-check ssd hdd meta
like "$ERR" "not the one of this metadata, .*: the mark .needs check. stays" "... which is told"
run traced pwrite64:error=EIO:when=1 meta "$DMTIER" check --clear-needs-check meta
is "$RC" 8 "... a write error ends it" || diag "$OUT" "$ERR"
like "$ERR" "superblock can't be written" "... and is told"
dmtier_is 4 "... the mark is still there" check meta
dmtier_is 16 "... --force makes no sense with it" check --force --clear-needs-check meta
fresh
meta_edit meta sb flags 5
verdict 4 damaged "both stopped in order and being activated" "clean and activating"
fresh
meta_edit meta intent 30000
verdict 4 damaged "marks a region that does not exist" "intent beyond the last region"

# ---- journal ----
fresh
meta_edit meta sb flags 0
meta_edit meta txn 1 0 5:100:f:3 6:101:1:0
meta_edit meta txn 2 1 5:100:f:f i:0:6
verdict 0 good "2 transactions" "two transactions to replay"
is "$(field '[.used_slots, .dirty_slots, .dirty_granules, .intent_regions] | join(" ")')" "2 1 4 2" \
	"... count as if they were in the pages"
flip meta $(($(offset_of meta slot 0 0) + 50))
verdict 0 good "note: slot page.*copy A.*torn by a power cut" "page under way at the power cut"
flip meta $(($(offset_of meta slot 1 0) + 50))
verdict 4 recoverable "recoverable: slot page" "... but not a page that nobody wrote to"
fresh
meta_edit meta sb flags 0
meta_edit meta txn 1 0 5:100:f:3
meta_edit meta txn 2 1 -3 6:101:1:0
verdict 0 good "note: journal, .*the last transaction was cut off after 3 sectors" "transaction cut off by a power cut"
fresh
meta_edit meta sb flags 0
meta_edit meta txn 2 1 6:101:1:0
verdict 4 damaged "journal has a gap" "missing transaction"
fresh
meta_edit meta txn 1 0 5:100:f:3
verdict 4 damaged "1 transactions although the last stop was clean" "transaction after a clean stop"
fresh
meta_edit meta sb flags 0
meta_edit meta sb head_txn 2
meta_edit meta txn 1 0 5:100:f:3
verdict 4 damaged "journal ends before a transaction" "lost transaction"
for how in flip zero; do
	fresh
	at=$(offset_of meta journal 9)
	case $how in
	flip)
		flip meta $((at + 600))
		said="sector 1: .*checksum"
		;;
	zero)
		zero_block meta "$at"
		said="sector 0: .*blank"
		;;
	esac
	verdict 4 recoverable "recoverable: journal, metadata block $((at / 4096)): $said.*nothing of it is needed" \
		"journal block damaged after a clean stop ($how)"
	is "$(field '[.errors, .recoverable, .journal_transactions] | join(" ")')" "0 1 0" "... and nothing else is wrong"
	meta_edit meta sb flags 3
	dmtier_is 4 "... with the mark that a failed write left" check meta
	run "$DMTIER" check --clear-needs-check meta
	verdict 4 recoverable "last stop +clean" "... which can be taken off"
	meta_edit meta sb flags 0
	verdict 4 damaged "error: journal, metadata block $((at / 4096)): $said" "... and after an unclean stop"
done
fresh
zero_block meta "$(offset_of meta journal 9)"
meta_edit meta txn 1 0 5:100:f:3
verdict 4 damaged "error: journal, metadata block .*newer than the clean stop" \
	"journal block damaged, and another newer than the clean stop"
fresh
meta_edit meta txn 2 1 6:101:1:0
verdict 4 damaged "journal has a gap" "journal newer than the clean stop"
fresh
meta_edit meta sb flags 0
meta_edit meta txn 1 0 5:100:f:3
meta_edit meta slot 700 100 1 0
verdict 4 damaged "slots 5 and 700 both claim block 100" "a block in two slots after replay"
fresh
meta_edit meta sb flags 0
meta_edit meta txn 1 0 99999:100:f:3
verdict 4 damaged "error: journal" "entry for a slot that does not exist"

# ---- hints ----
fresh
flip meta $(($(offset_of meta hint 0) + 50))
verdict 0 good good "damaged hints that are not in use"
meta_edit meta sb hint_seq 4
verdict 4 recoverable "recoverable: hint page" "damaged hints that are"
fresh
meta_edit meta sb hint_seq 4
meta_edit meta page hint 0 0 seq 4
verdict 4 recoverable "is of another stop; the policy" "hints of another stop"
meta_edit meta page hint 1 0 seq 4
verdict 0 good good "hints of the last stop"

# ---- superblock fields ----
for change in "nr_slots 5000000" "block_sectors 100" "granule_sectors 4" "record_bytes 24" "nr_devs 17" "nr_devs 3" \
	"meta_blocks 18" "journal_blocks 1" "journal_blocks 0xffffffffffffffff" "slot_start 0xfffffffffffffff0" \
	"intent_start 0" "tail_block 64" "head_txn 1000" "tail_txn 0" "mode 9" "nr_regions 0" "region_shift 60" \
	"reserved0 1" "nr_slots 0xffffffffffffffff"; do
	fresh
	# shellcheck disable=SC2086
	meta_edit meta sb $change
	verdict 4 damaged "superblock" "superblock with $change"
	# shellcheck disable=SC2086
	fresh
	# shellcheck disable=SC2086
	meta_edit meta sb $change 1
	verdict 4 recoverable "superblock.*the other copy is good" "... in one copy"
done
fresh
meta_edit meta sb seq 2 0
verdict 0 good "note: superblock.*one update behind" "superblock update cut off"
meta_edit meta sb seq 5 0
verdict 4 recoverable "is 4 updates behind" "superblock update lost"
fresh
meta_edit meta sb mode 1 0
verdict 4 damaged "differs from the other copy, and neither is newer" "superblocks that contradict each other"

# ---- newer versions ----
fresh
meta_edit meta sb version 2
verdict 64 newer "written by a newer version" "newer version"
fresh
meta_edit meta sb version 2 1
verdict 64 newer "written by a newer version" "newer version in one copy"
fresh
meta_edit meta sb incompat 0x10
verdict 64 newer "features that this version does not know" "unknown incompat feature"
fresh
meta_edit meta sb compat_ro 0x10
verdict 0 good "note: superblock: has features of a newer version" "unknown compat_ro feature"
fresh
meta_edit meta sb compat 0x10
verdict 0 good good "unknown compat feature"

# ---- device headers ----
fresh
run "$DMTIER" check ssd2 hdd meta
is "$RC" 8 "another tier device's SSD"
like "$OUT" "mismatch: device header: ssd2 belongs to another tier device" "... says why"
like "$OUT" "meta: not damaged, but this SSD is not the one of this metadata, .*$" "... and that the metadata are good"
run "$DMTIER" check --json ssd2 hdd meta
is "$RC $(field '[.verdict, .exit_code, .errors, .mismatches, .findings[0].level] | join(" ")')" \
	"8 mismatch 8 0 1 mismatch" "... --json"
json_ok "... JSON"
image blank 20M
run "$DMTIER" check blank hdd meta
is "$RC" 8 "a blank SSD"
like "$OUT" "blank is not the fast device .*not damaged, but this SSD is not the one of this metadata, on which nothing is dirty: with feature accept_new_fast a blank one takes its place$" "... says why, and what takes it in"
flip meta 50
run "$DMTIER" check ssd2 hdd meta
is "$RC" 4 "another's SSD, and damage that can be made good"
like "$OUT" "meta: damaged, but all of it can be made good; this SSD is not the one of this metadata, .*$" "... tells both"
run "$DMTIER" check --json ssd2 hdd meta
is "$RC $(field .verdict)" "4 recoverable" "... --json"
fresh
run "$DMTIER" check meta
is "$RC" 0 "without devices only the metadata count"
fresh
run "$DMTIER" check ssd hdd meta
like "$OUT" "compared with ssd hdd" "with all devices it says what it looked at"
dmtier_is 8 "the SSD alone" check ssd
like "$ERR" "ssd holds no tier metadata: it is the SSD, or the first tier, of tier device [0-9a-f-]{36}" "... says what it is"
zero_block ssd 0
run "$DMTIER" table ssd hdd meta
like "$ERR" "it has no header \(feature accept_new_fast takes in a blank SSD if nothing was dirty\)" "table names what takes it in"
verdict 8 mismatch "is not the fast device of a tier device" "SSD without a header"
fresh
flip ssd 100
verdict 4 damaged "ssd: its header: .*checksum" "damaged device header"
fresh
meta_edit ssd header generation 0
verdict 8 mismatch "its data are out of date.*same time; nothing is dirty: with feature accept_new_fast" "... and what takes it in"
run "$DMTIER" table ssd hdd meta
like "$ERR" "out of date \(feature accept_new_fast takes in an older life's SSD" "... table says so, too"
verdict 8 mismatch "its data are out of date.*not damaged, but this SSD and this metadata are not of the same time" "stale SSD"
meta_edit meta sb flags 4
verdict 0 good good "SSD one generation behind while activating"
fresh
meta_edit meta sb generation 7
verdict 8 mismatch "last in use at activation 1, the metadata at 7" "older SSD"
fresh
meta_edit ssd header generation 9
verdict 8 mismatch "the metadata are out of date" "older metadata"
fresh
meta_edit ssd header block_sectors 8
verdict 4 damaged "disagree about its layout" "header that disagrees"
fresh
truncate -s 19M ssd
verdict 0 good "note: fast device: ssd has shrunk to 38912 sectors" "SSD made smaller"
meta_edit meta slot 5 100 f 1
verdict 0 good "note: fast device: ssd has shrunk" "... with dirty data before its end"
meta_edit meta slot 1200 101 f 1
verdict 4 damaged "error: fast device: ssd has shrunk .*1 slots with dirty data are behind its end" "... and behind it"
truncate -s 1M ssd
verdict 4 damaged "not enough for a block" "SSD far too small"
fresh
run "$DMTIER" check hdd ssd meta
is "$RC" 8 "SSD and HDD in the wrong order"
like "$ERR" "wrong order: .*so ssd hdd meta" "... says what is right"
run "$DMTIER" check --json meta ssd hdd
is "$RC $(field .verdict)" "8 not checked" "all in the wrong order"
json_ok "... JSON"
image small 63M
run "$DMTIER" check ssd small meta
is "$RC" 8 "HDD too small"
like "$OUT" "mismatch: slow device: small has [0-9]* sectors, the tier device" "... says why"
like "$OUT" "meta: not damaged, but this HDD is not the one of this metadata$" "... and that the metadata are good"
fresh
zeros_csum()	# BYTES
{
	python3 - "$1" <<'PY'
import sys
c = 0xffffffff
for b in bytes(int(sys.argv[1])):
	c ^= b
	for _ in range(8):
		c = (c >> 1) ^ (0x82f63b78 if c & 1 else 0)
print(c)
PY
}
meta_edit meta sb fp_sectors $((64 * 2048))
meta_edit meta sb fp_head "$(zeros_csum 65536)"
meta_edit meta sb fp_samples "$(zeros_csum 131072)"
verdict 0 good "meta: good" "HDD as it was at the last stop"
like "$OUT" '"notes": 0' "... nothing to note"
meta_edit meta sb fp_samples 1
verdict 0 good "note: slow device: hdd was written to since the last stop" "HDD written to since, behind its head"
meta_edit meta sb fp_head 1
verdict 0 good "note: slow device: hdd was written to since the last stop" "HDD written to since"
meta_edit meta slot 5 100 f 1
verdict 8 mismatch "mismatch: slow device: hdd was written to.*meta: not damaged, but this HDD was changed.*feature accept_changed_slow" \
	"... with dirty data on the SSD"

# ---- not metadata at all ----
image empty 0
dmtier_is 8 "empty file" check empty
like "$ERR" "too small to hold tier metadata" "... says why"
image blank 4M
dmtier_is 8 "blank file" check blank
like "$ERR" "blank holds no tier metadata" "... says why"
dmtier_is 8 "SSD in place of METADATA" check ssd
dmtier_is 8 "no such file" check nosuch
dmtier_is 8 "no such file, JSON" check --json nosuch
json_ok "... JSON"
is "$(field .verdict)" "not checked" "... says so"
dmtier_is 8 "directory" check .
dmtier_is 16 "two devices" check ssd meta
dmtier_is 16 "unknown option" check --fix meta

# ---- cut short ----
for blocks in 17 18 100; do
	fresh
	truncate -s $((blocks * 4096)) meta
	verdict 4 damaged "was cut short" "$blocks blocks left"
done
fresh
truncate -s $((16 * 4096)) meta
dmtier_is 8 "too short for both superblocks" check meta
fresh
truncate -s "$(offset_of meta end)" meta
verdict 0 good good "exactly what is needed"

# ---- garbage ----
limited()	# COMMAND...: 2 s of processor time
{
	( ulimit -t 2; exec "$@" )
}
for i in $(seq 1 25); do
	fresh
	# some 1000 bytes anywhere
	python3 - meta "$i" <<'PY'
import random, sys
random.seed(int(sys.argv[2]))
with open(sys.argv[1], 'r+b') as f:
	size = f.seek(0, 2)
	for _ in range(random.choice([1, 30, 1000])):
		f.seek(random.randrange(size // 4 if random.random() < .5 else size))
		f.write(bytes([random.randrange(256)]))
PY
	run limited "$DMTIER" check --json ssd hdd meta
	[ "$RC" = 0 ] || [ "$RC" = 4 ] || [ "$RC" = 8 ]
	ok $? "random damage $i: exit code $RC" || diag "$ERR"
	json_ok "... JSON"
done
for i in 1 2 3; do
	head -c 1M /dev/urandom >junk
	run limited "$DMTIER" check junk
	is "$RC" 8 "random bytes $i"
	# with both magic numbers and right checksums
	cp good junk
	head -c 4000000 /dev/urandom | dd of=junk bs=4096 seek=17 conv=notrunc status=none
	run limited "$DMTIER" check --json junk
	is "$RC $(field .verdict)" "4 damaged" "random bytes behind good superblocks $i"
	json_ok "... JSON"
done

# ---- read errors and interrupts ----
if command -v strace >/dev/null; then
	fresh
	for n in 1 2 3 4 5 6 7 8; do
		run traced pread64:error=EIO:when=$n meta "$DMTIER" check --json ssd hdd meta
		[ "$RC" = 0 ] || [ "$RC" = 4 ] || [ "$RC" = 8 ]
		ok $? "read $n fails: exit code $RC" || diag "$ERR"
		json_ok "... JSON"
	done
	run traced pread64:error=EIO:when=1 meta "$DMTIER" check meta
	like "$OUT" "superblock, metadata block 0, copy A: it cannot be read; the other copy is good" \
		"an unreadable superblock is told"
	run traced pread64:error=EIO:when=1+ ssd "$DMTIER" check ssd hdd meta
	is "$RC" 8 "an SSD that can't be read"
	like "$OUT" "mismatch: device header: ssd: cannot read its header: .*meta: not damaged, but this SSD cannot be read; nothing on it is dirty: .*accept_new_fast" \
		"... is no damage, and another one can take its place"
	meta_edit meta slot 5 100 f 1
	run traced pread64:error=EIO:when=1+ ssd "$DMTIER" check --json ssd hdd meta
	is "$RC $(field '[.verdict, .errors, .mismatches] | join(" ")')" "8 mismatch 0 1" "... with dirty data, --json"
	run traced pread64:error=EIO:when=1+ ssd "$DMTIER" check ssd hdd meta
	like "$OUT" "this SSD cannot be read, and it holds data that the HDD lacks" "... says what that means"
	fresh
	run traced pread64:signal=SIGINT:when=3 meta "$DMTIER" check meta
	is "$RC" 32 "an interrupted check"
else
	skip "no strace"
fi

# ---- a device in use ----
if can_loop; then
	fresh
	attach meta && META=$LOOP
	dmtier_is 0 "a block device" check "$META"
	hold "$META"
	dmtier_is 8 "a device in use" check "$META"
	like "$ERR" "is in use .*--force" "... says what to do"
	dmtier_is 0 "... --force" check --force "$META"
	like "$ERR" "warning: .* is in use" "... warns"
	let_go
else
	skip "needs root and loop devices"
fi

# ---- a large one ----
image bigssd 40G
image bighdd 1T
image bigmeta 100M
dmtier_is 0 "format a large one" format --block-size 32k bigssd bighdd bigmeta
run bash -c 'ulimit -t 20; exec "$@"' limited "$DMTIER" check bigssd bighdd bigmeta
is "$RC" 0 "check it, in 20 s of processor time at most"

done_testing
