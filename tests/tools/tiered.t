#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Tiered devices: format, table, check, size, lost, status.
. "$(dirname "$0")/common.sh"

tiers()		# SIZE...	images t0, t1, ...
{
	local i=0 size

	for size; do
		image t$i "$size"
		i=$((i + 1))
	done
	image meta 4M
}

# ---- format, table, check ----

tiers 20M 64M 100M
dmtier_is 0 "format over three tiers" format --mode tiered t0 t1 meta t2
# 304, 1008 and 1584 slots; 2, 3 and 6 of them are kept back
sectors=$(((302 + 1005 + 1578) * 128))
like "$OUT" "tier 0 +t0, 20 MiB, 304 blocks, 2 of them kept back" "it tells the tiers"
like "$OUT" "table +0 $sectors tier t0 t1 meta 128 3 tiered tier_dev t2 seqbypass 2 next hotspot" "and the table line"
line="0 $sectors tier t0 t1 meta 128 3 tiered tier_dev t2 seqbypass 2 next hotspot"
run "$DMTIER" table t0 t1 meta t2
is "$OUT" "$line" "table prints the same"
dmtier_is 0 "check" check t0 t1 meta t2
like "$OUT" "mode +tiered" "... knows the mode"
like "$OUT" "tier 2 +0 of 1584 slots used" "... and the tiers"
dmtier_is 0 "check of the metadata alone" check meta
run "$DMTIER" check --json t0 t1 meta t2
json_ok "JSON of check"
is "$(field '[.verdict, .mode, .sectors, (.tiers | length), .tiers[1].slots] | join(" ")')" "good tiered $sectors 3 1008" \
	"... has the tiers"

for size in 64k 128k 256k 512k 1m; do
	dmtier_is 0 "blocks of $size" format --force --mode tiered --block-size $size t0 t1 meta t2
	dmtier_is 0 "... check clean" check t0 t1 meta t2
	like "$OUT" "blocks of ${size%[km]} " "... and are what was asked for"
done
dmtier_is 16 "blocks of 32k" format --force --mode tiered --block-size 32k t0 t1 meta
like "$ERR" "block size 32 KiB is too small for a tiered device: a power of two from 64k to 1m" "... says what would be right"
dmtier_is 16 "... size says so, too" size --tiered --block-size 4k 20m 64m
like "$ERR" "block size 4 KiB is too small for a tiered device" "... in the same words"

run "$DMTIER" format --force --json --mode tiered --size 100M t0 t1 meta t2
json_ok "JSON of format"
is "$(field '[.sectors, .mode, (.tiers | length), .tiers[2].kept] | join(" ")')" "204800 tiered 3 6" "--size"
is "$(field .table)" "$("$DMTIER" table t0 t1 meta t2)" "its table line is that of table"
dmtier_is 8 "a size that is no multiple of the block" format --force --mode tiered --size 100000 t0 t1 meta
like "$ERR" "size 100000 is no multiple of the block size, 64 KiB: 131072 would be right" "... says what would be right"
dmtier_is 8 "a size too large" format --force --mode tiered --size 1g t0 t1 meta
like "$ERR" "more than the tiers can hold: at most 85655552" "... says what would be right"
dmtier_is 16 "--size of a cache" format --force --size 1g t0 t1 meta
dmtier_is 16 "--take-data of a cache" format --force --take-data t0 t1 meta
dmtier_is 16 "four devices for a cache" format --force t0 t1 meta t2
like "$ERR" "a cache takes three devices.*--mode tiered" "... says what would be right"
dmtier_is 16 "two devices" format --mode tiered t0 t1
dmtier_is 8 "a device twice" format --force --mode tiered t0 t1 meta t0
like "$ERR" "t0 and TIER t0 are the same device" "... names it"
image small 1200K
dmtier_is 8 "a tier too small" format --force --mode tiered t0 t1 meta small
like "$ERR" "TIER small \\(1.2 MiB\\): a tier is too small: it needs 1 MiB and room for 4 blocks" "... says which, and what is needed"

# sixteen tiers, seventeen
all=()
for i in {0..15}; do
	image "x$i" 2M
	[ "$i" -lt 2 ] || all+=("x$i")
done
dmtier_is 0 "sixteen tiers" format --force --mode tiered x0 x1 meta "${all[@]}"
dmtier_is 0 "... check clean" check x0 x1 meta "${all[@]}"
run "$DMTIER" table x0 x1 meta "${all[@]}"
like "$OUT" " 29 tiered tier_dev x2 .* tier_dev x15 seqbypass 2 next hotspot$" "... table"
image x16 2M
dmtier_is 16 "seventeen tiers" format --force --mode tiered x0 x1 meta "${all[@]}" x16
like "$ERR" "at most 16 tiers" "... says how many"

# ---- what is refused ----

tiers 20M 64M 100M
"$DMTIER" format --mode tiered t0 t1 meta t2 >/dev/null
dmtier_is 8 "formatted already" format --mode tiered t0 t1 meta t2
like "$ERR" "holds the metadata of tiered device" "... says so"
before=$(sums t0 t1 t2 meta)
dmtier_is 0 "--dry-run" format --force --dry-run --mode tiered t0 t1 meta t2
is "$(sums t0 t1 t2 meta)" "$before" "... writes nothing"
if command -v mkfs.ext4 >/dev/null; then
	image t3 64M
	mkfs.ext4 -q t3
	image meta2 4M
	image t4 20M
	dmtier_is 8 "a file system on a tier" format --mode tiered t4 t3 meta2
	like "$ERR" "HDD t3 holds: .*ext4" "... is named"
fi

dmtier_is 0 "tiers in another order" table t2 t1 meta t0
like "$ERR" "warning: t2 \(tier 2 so far\) stands in front of t1 \(tier 1 so far\): .* is it right" "... with a warning"
run "$DMTIER" table t0 t1 meta t2
is "$ERR" "" "... and without one in that of so far"
dmtier_is 0 "... are as good for check" check t2 t1 meta t0
like "$OUT" "compared with t2 t1 t0" "... which says what it looked at"
dmtier_is 8 "a tier missing" table t0 t1 meta
like "$ERR" "tier 2 .* is missing: it has 3 tiers" "... is named"
dmtier_is 8 "... for check, too" check t0 t1 meta
like "$OUT" "mismatch: tier: tier 2 .* is not among the devices given: .* - stands for one that is missing" "... is named"
dmtier_is 0 "... which says nothing of the metadata alone" check meta
dmtier_is 8 "a tier instead of the metadata" check t1
like "$ERR" "t1 holds no tier metadata: it is a tier of tier device [0-9a-f-]{36}" "... says what it is"
image new 30M
dmtier_is 8 "a device that is none of them" table t0 t1 meta t2 new
like "$ERR" "new is no tier of this tiered device: .*accept_new_tier" "... and what takes it in"
dmtier_is 0 "taken in" table --feature accept_new_tier t0 t1 meta t2 new
like "$OUT" "^0 $sectors tier .* 6 tiered tier_dev t2 tier_dev new accept_new_tier " "... with the length that it has"
run "$DMTIER" table --feature accept_new_tier --grow t0 t1 meta t2 new
like "$OUT" "^0 $((sectors + 462 * 128)) tier" "... or as long as it can be"
cp t2 once
meta_edit once header dev_uuid 7
dmtier_is 8 "one that was a tier once" table t0 t1 meta t2 once
like "$ERR" "once was a tier of this tiered device once.*accept_new_tier takes it in" "... and what takes it in"
dmtier_is 0 "... taken in" table --feature accept_new_tier t0 t1 meta t2 once
rm once
dmtier_is 0 "one that is missing" table t0 - meta t2
like "$OUT" "^0 $sectors tier t0 - meta 128 3 tiered tier_dev t2 " "... has a - in the line"
dmtier_is 0 "all but one" table - t1 meta -
like "$OUT" "^0 $sectors tier - t1 meta 128 3 tiered tier_dev - " "... in their places"
dmtier_is 16 "all of them" table - - meta -
like "$ERR" "all tiers are missing \(-\)" "... is too many"
dmtier_is 8 "the metadata" table t0 t1 - t2
dmtier_is 8 "another in its place" table t0 t2 meta -
like "$ERR" "t2 is tier 2, and stands where tier 1 belongs: where one is missing" "... says so"
dmtier_is 8 "one that is not told" table t0 - meta
like "$ERR" "2 tiers are given, and this tiered device has 3: each that is missing takes a -" "... says so"
dmtier_is 8 "with one that is none of them" table --feature accept_new_tier t0 - meta new
dmtier_is 16 "and to grow" table --grow t0 - meta t2
like "$ERR" "--grow does not go with a missing tier" "... says so"
dmtier_is 0 "check without one" check t0 - meta t2
like "$OUT" "note: tier: tier 1 .* is missing, and 0 blocks are on it" "... tells which"
dmtier_is 16 "create without a name" create --readonly t0 - meta
dmtier_is 8 "create with files" create --readonly t t0 - meta t2
like "$ERR" "SSD t0 is a file, not a block device" "... says so"
dmtier_is 8 "no tier is missing when it is formatted" format --force --mode tiered t0 - meta t2
like "$ERR" "-: No such file" "... it is a path there"
dmtier_is 16 "a cache's mode" table --mode writeback t0 t1 meta t2
like "$ERR" "mode writeback does not go with these metadata, which are those of a tiered device" "... says why"
dmtier_is 16 "a cache's tunable" table --feature "dirty_high 60" t0 t1 meta t2
like "$ERR" "dirty_high belongs to the cache modes: tiered mode has" "... says which there are"
dmtier_is 0 "tunables" table --feature "yield_ms 20 migration 3600" --policy lru t0 t1 meta t2
like "$OUT" " 7 tiered tier_dev t2 yield_ms 20 migration 3600 lru 0$" "... in the line"
dmtier_is 8 "wrong order" table meta t1 t0 t2
like "$ERR" "wrong order: it is SSD HDD METADATA, then further tiers, but meta holds the metadata" "... says the right one"
images 20M 64M 4M
"$DMTIER" format --force ssd hdd meta >/dev/null
dmtier_is 8 "further tiers for a cache" table ssd hdd meta t2
like "$ERR" "of a cache, which has no further tiers" "... says so"
dmtier_is 8 "a missing SSD of a cache" table - hdd meta
like "$ERR" "meta holds the metadata of a cache: only a tier of a tiered device may be missing" "... says so"
dmtier_is 8 "... for check, too" check ssd - meta
dmtier_is 16 "mode tiered for a cache" table --mode tiered ssd hdd meta
like "$ERR" "those of a cache" "... says so"

# ---- taking data over ----

for tail in 0 1 7 8 9 127; do
	image t0 20M
	image meta 4M
	rm -f hdd
	head -c $((512 * (500 * 128 + tail))) /dev/urandom >hdd
	before=$(sums hdd)
	dmtier_is 0 "take over a disk with $tail sectors more than whole blocks" format --force --mode tiered --take-data t0 hdd meta
	is "$(sums hdd)" "$before" "... which is not written to"
	dmtier_is 0 "... checks clean" check t0 hdd meta
	like "$("$DMTIER" check --json t0 hdd meta)" '"dirty_slots": 0,' "... and nothing is dirty: there is one copy of everything"
	like "$OUT" "tier 0 +$((tail > 0)) of 304 .*tier 1 +500 of 500 slots used, 0 pinned, without header" "... and says where the blocks are"
	run "$DMTIER" lost --tier 1 meta
	is "$OUT" "0 64000" "... all whole blocks are on the disk"
	run "$DMTIER" lost --tier 0 meta
	[ $tail = 0 ] || is "$OUT" "64000 $(((tail + 7) / 8 * 8))" "... and the rest on the first tier"
	cmp -s <(tail -c $((512 * tail)) hdd) <(tail -c +1048577 t0 | head -c $((512 * tail)))
	ok $? "... with its data"
	is "$(tail -c +$((1048577 + 512 * tail)) t0 | head -c $((65536 - 512 * tail)) | tr -d '\0' | wc -c)" 0 "... and zeros behind"
	like "$("$DMTIER" table t0 hdd meta)" "^0 $(((302 + 498) * 128)) tier" "... the length"
	head -c $((512 * (500 * 128 + tail))) /dev/urandom >other
	dmtier_is 8 "... another disk as large" check t0 other meta
	like "$OUT" "other was written to since|other.*another device" "... is not taken for it"
done
image t0 1300K
dmtier_is 8 "a first tier too small for that" format --force --mode tiered --take-data t0 hdd meta
like "$ERR" "the faster tiers are too small to take over the data of the last one" "... says so"
image t0 20M
dmtier_is 8 "a size below the data" format --force --mode tiered --take-data --size 16M t0 hdd meta
like "$ERR" "less than the data that are to be kept: at least 32833536$" "... says so"
dmtier_is 0 "... which is enough" format --force --dry-run --mode tiered --take-data --size 32833536 t0 hdd meta
dmtier_is 8 "... and a block less is not" format --force --dry-run --mode tiered --take-data --size 32768000 t0 hdd meta
image t0 20M
image t1 20M
dmtier_is 0 "the last of three" format --force --mode tiered --take-data t0 t1 meta hdd
dmtier_is 0 "... check clean" check t0 t1 meta hdd
dmtier_is 8 "... left out" table t0 t1 meta
like "$ERR" "tier 2 \(without header\) of this tiered device is missing" "... is named"
if command -v mkfs.ext4 >/dev/null; then
	image twin "$(stat -c %s hdd)"
	mkfs.ext4 -q hdd
	dmtier_is 0 "a new one that is as large, in front" table --grow --feature accept_new_tier t0 t1 meta twin hdd
	like "$OUT" "^0 $(((302 + 302 + 498 + 482) * 128)) tier" "... is not mistaken for it"
	dmtier_is 0 "... nor behind" table --grow --feature accept_new_tier t0 t1 meta hdd twin
	like "$OUT" "^0 $(((302 + 302 + 498 + 482) * 128)) tier" "... the length is the same"
fi

# interrupted at each write: the disk is as it was, and can be taken over again
if command -v strace >/dev/null; then
	head -c $((512 * (500 * 128 + 9))) /dev/urandom >hdd
	before=$(sums hdd)
	for n in $(seq 20); do
		image t0 20M
		image meta 4M
		run traced pwrite64:signal=SIGKILL:when="$n" "" "$DMTIER" format --force --mode tiered --take-data t0 hdd meta
		[ "$RC" != 0 ] || break
		is "$(sums hdd)" "$before" "killed at write $n, and the disk was not written to"
		run "$DMTIER" check t0 hdd meta
		[ "$RC" = 8 ] || [[ $OUT == *"the other copy is good"* ]]
		ok $? "... no metadata, or complete ones" || diag "$OUT" "$ERR"
		dmtier_is 0 "... taken over again" format --force --mode tiered --take-data t0 hdd meta
		dmtier_is 0 "... and checked" check t0 hdd meta
	done
	[ "$n" -gt 5 ] && [ "$RC" = 0 ]
	ok $? "all writes were tried ($n)"
	is "$(sums hdd)" "$before" "the disk was not written to in all this"
else
	skip "no strace"
fi

# ---- damage, and what is lost ----

tiers 20M 64M
"$DMTIER" format --force --mode tiered t0 t1 meta >/dev/null
dmtier_is 0 "nothing is on a tier" lost --tier 0 meta
meta_edit meta slot 7 4 ff ff
meta_edit meta slot 3 3 ffff ffff
meta_edit meta slot 310 9 1 1
dmtier_is 0 "what is on tier 0" lost --tier 0 meta
is "$OUT" "384 192" "... as ranges"
like "$ERR" "1 ranges, 96 KiB: they are on that tier and nowhere else" "... and their sum"
run "$DMTIER" lost --tier 1 --json meta
json_ok "JSON of lost"
is "$(field '.lost[0] | "\(.first) \(.sectors)"')" "1152 8" "... the ranges"
dmtier_is 8 "no tier named" lost meta
like "$ERR" "--tier says which is lost, 0 to 1" "... says which there are"
dmtier_is 8 "a tier that is not there" lost --tier 2 meta
dmtier_is 8 "files, of a device that is not active" lost --tier 0 meta t0
like "$ERR" "the tier device with the metadata on meta is not active" "... can't be judged"
dmtier_is 16 "a tier that is no number" lost --tier ssd meta
run "$DMTIER" check t0 meta t1
run "$DMTIER" check t0 t1 meta
like "$OUT" "tier 0 +2 of 304 .*tier 1 +1 of 1008" "check counts them"
image other 64M
dmtier_is 8 "check with another device" check t0 other meta
like "$OUT" "tier 1 .* is not among the devices given, and 1 blocks are on it" "... names the tier that is missing"
meta_edit meta slot 8 5 ff f
dmtier_is 4 "a slot that has valid granules that are not dirty" check meta
like "$OUT" "holds a record that makes no sense" "... is damage"
meta_edit meta slot 8 4 ff ff
dmtier_is 4 "a block in two slots" check meta
like "$OUT" "slots 7 and 8 both claim block 4" "... is damage"
"$DMTIER" format --force --mode tiered t0 t1 meta >/dev/null
flip t1 100
dmtier_is 4 "a damaged header" check t0 t1 meta
like "$OUT" "error: device header: t1: its header" "... is named"

# ---- size ----

run "$DMTIER" size --tiered --json 20m 64m 100m
json_ok "JSON of size"
tiers 20M 64M 100M
is "$(field .sectors)" "$sectors" "the size of a tiered device"
metadata=$(field .metadata_bytes) memory=$(field .memory_core_bytes)
run "$DMTIER" format --force --json --mode tiered t0 t1 meta t2
is "$(field '[.metadata_bytes, .memory_core_bytes] | join(" ")')" "$metadata $memory" "... is what format says"
dmtier_is 16 "size of one tier" size --tiered 1g
dmtier_is 16 "three sizes for a cache" size 1g 2g 3g

# ---- status ----

tail=" 22 tiers 2 304 20 1 2 3 4 5 6 7 ok 1008 0 0 0 0 0 0 0 0 evacuating"
status="0 $sectors tier rw - tiered tiered 128 8 20/1312 1290 0 0 0/64 4 read_hits 10 read_misses 0 2 jobs 1 2 yield_ms 0 hotspot 0"
echo "t: $status$tail" >line
run "$DMTIER" status --json --from line
json_ok "JSON of status"
is "$(field '.devices[0].tiers[0] | [.slots, .used_slots, .reads, .writes, .landings, .moves_in, .moves_out, .pinned_slots, .errors, .state] | join(" ")')" \
	"304 20 1 2 3 4 5 6 7 ok" "the words of a tier"
is "$(field '.devices[0].tiers[1].state')" evacuating "... and of the next"
run "$DMTIER" status --long --from line
like "$OUT" "tier 0: ok, 20 of 304 slots used \(6.6%\), 6 pinned" "for people"
like "$OUT" "reads 1, writes 2, landings 3, moves in 4, moves out 5, errors 7" "... its counters"
like "$OUT" "slots: 20 of 304 used" "a tier that is to be emptied does not count"
run "$DMTIER" status --from line
like "$OUT" " 6.6% " "... in the share, either"
is "$(run "$DMTIER" status --json --from line; field '[.devices[0].tiers[].stuck] | join(" ")')" "0 0" "an older kernel has no word for what is stuck"
echo "t: $status 24 tiers 2 304 20 1 2 3 4 5 6 7 ok 0 1008 0 0 0 0 0 0 0 0 evacuating 98" >line
run "$DMTIER" status --json --from line
is "$(field '[.devices[0].tiers[] | .state, .stuck] | join(" ")')" "ok 0 evacuating 98" "blocks that are stuck"
run "$DMTIER" status --long --from line
like "$OUT" "moves out 0, errors 0, stuck 98" "... for people"
echo "t: $status 26 tiers 2 304 20 1 2 3 4 5 6 7 ok 1 99 1008 0 0 0 0 0 0 0 0 evacuating 2 98" >line
run "$DMTIER" status --json --from line
is "$(field '[.devices[0].tiers[] | .state, .stuck] | join(" ")')" "ok 1 evacuating 2" "words of a newer kernel are passed by"
echo "t: $status 3 news of 5" >line
dmtier_is 0 "another list" status --from line
for bad in "22 tiers 3 304 20 1 2 3 4 5 6 7 ok" "12 tiers 0" "12 tiers x 304 20 1 2 3 4 5 6 7 ok" "12 tiers 1 304 x 1 2 3 4 5 6 7 ok"; do
	echo "t: $status $bad" >line
	dmtier_is 8 "tiers that make no sense: $bad" status --from line
done
echo "t: $status 22 tiers 2 304 20" >line
dmtier_is 8 "tiers that end early" status --from line

# ---- verbs that need the kernel: what they say before they ask it ----

dmtier_is 16 "move without a range" move t 1
dmtier_is 16 "move to no tier" move t ssd 0 8
like "$ERR" '"ssd" is not the number of a tier' "... says what would be right"
dmtier_is 16 "evacuate what" evacuate t
dmtier_is 16 "evacuate a word" evacuate t fast
dmtier_is 16 "settle what" settle --wait t
dmtier_is 16 "settle a word" settle t disk
like "$ERR" '"disk" is not the number of a tier' "... says what would be right"
dmtier_is 16 "keep without a tier" keep t
dmtier_is 16 "where without a device" where
dmtier_is 16 "where of too much" where t0 0 8 8
dmtier_is 16 "where with a file and a range" where --file line t 0 8
dmtier_is 16 "where with no number" where t x 8
like "$ERR" "FIRST 'x' is neither a number of sectors nor a size" "... is named"
dmtier_is 16 "where of nothing" where t 0 0
dmtier_is 8 "where of a file that is not there" where --file nothing
like "$ERR" "nothing: No such file" "... is named"
dmtier_is 8 "where of a file on another device" where --file line
dmtier_is 8 "where of something else" where ./line 0 8
like "$ERR" "is no block device; --file is for files" "... says so"

done_testing
