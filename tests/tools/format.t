#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# dmtier format: what it writes is what dmtier check and the kernel's parser like.
. "$(dirname "$0")/common.sh"

for size in 4k 8k 16k 32k 64k 128k 256k 512k 1m; do
	images 20M 64M 16M
	dmtier_is 0 "format with blocks of $size" format --block-size $size ssd hdd meta
	dmtier_is 0 "... checks clean" check ssd hdd meta
	like "$OUT" "blocks of ${size%[km]} " "... and is what was asked for"
done

# odd sizes: not a multiple of a block, a granule or a page
for sizes in "1052672 4096 4M" "5000192 512 4M" "67109376 1000000512 4M" "33554944 104857088 4198912"; do
	read -r s h m <<<"$sizes"
	images "$s" "$h" "$m"
	dmtier_is 0 "format with sizes $sizes" format --force ssd hdd meta
	dmtier_is 0 "... checks clean" check ssd hdd meta
	run "$DMTIER" table ssd hdd meta
	is "${OUT%% tier*}" "0 $((h / 512))" "... and the tier device is as long as the HDD"
done

for mode in writeback writethrough writearound passthrough; do
	images
	dmtier_is 0 "format in mode $mode" format --mode $mode ssd hdd meta
	run "$DMTIER" check meta
	like "$OUT" "mode +$mode" "... is remembered"
done

# the block size it chooses
images 2M 256M 4M
run "$DMTIER" format --json ssd hdd meta
json_ok "JSON of format"
is "$(field .block_bytes)" 4096 "a very small SSD gets the smallest blocks"
images 20M 256M 4M
run "$DMTIER" format --json ssd hdd meta
is "$(field .block_bytes)" 16384 "a small SSD gets small blocks"
images 1G 256M 4M
run "$DMTIER" format --json --force ssd hdd meta
is "$(field .block_bytes)" 65536 "a larger one gets blocks of 64 KiB"
is "$(field .slots)" $(((1024 - 1) * 16)) "... as many as fit behind the first MiB"
like "$ERR" "is larger than HDD" "an SSD larger than the HDD is pointed out"
is "$(field .table)" "$("$DMTIER" table ssd hdd meta)" "its table line is that of table"

# what it says about the metadata is what size says
size=$("$DMTIER" size --json 1g 256m)
is "$(field .metadata_bytes)" "$(jq .metadata_bytes <<<"$size")" "size predicts the metadata"
is "$(field .memory_core_bytes)" "$(jq .memory_core_bytes <<<"$size")" "... and the memory"
image meta "$(field .metadata_bytes)"
dmtier_is 0 "metadata that just fit" format --force ssd hdd meta
dmtier_is 0 "... check clean" check ssd hdd meta

# the HDD keeps its data
images
head -c 1M /dev/urandom | dd of=hdd conv=notrunc status=none
before=$(sums hdd)
dmtier_is 0 "format with a used HDD" format ssd hdd meta
is "$(sums hdd)" "$before" "... does not touch it"
if command -v mkfs.ext4 >/dev/null; then
	images
	mkfs.ext4 -q hdd
	before=$(sums hdd)
	dmtier_is 0 "format with a file system on the HDD" format ssd hdd meta
	is "$(sums hdd)" "$before" "... does not touch it"
else
	skip "no mkfs.ext4"
	skip "no mkfs.ext4"
fi

# --dry-run
images
before=$(sums ssd hdd meta)
dmtier_is 0 "dry run" format --dry-run ssd hdd meta
like "$OUT" "nothing was written" "... says so"
is "$(sums ssd hdd meta)" "$before" "... and writes nothing"
dmtier_is 0 "dry run, JSON" format --dry-run --json ssd hdd meta
is "$(field .dry_run)" true "... says so too"

# --force over old signatures, until blkid sees none
images 20M 64M 16M
mkfs.ext4 -q -L old-ssd ssd
mkfs.ext4 -q meta
dmtier_is 8 "foreign signatures are refused" format ssd hdd meta
dmtier_is 0 "--force overwrites them" format --force ssd hdd meta
is "$(blkid -p -o value -s TYPE ssd meta 2>/dev/null)" "" "... blkid no longer sees them"
dmtier_is 0 "... and the metadata check clean" check ssd hdd meta
if command -v mkfs.xfs >/dev/null; then
	images 300M 256M 16M
	mkfs.xfs -q -f ssd
	dmtier_is 0 "--force overwrites XFS" format --force ssd hdd meta
	is "$(blkid -p -o value -s TYPE ssd 2>/dev/null)" "" "... blkid no longer sees it"
else
	skip "no mkfs.xfs"
	skip "no mkfs.xfs"
fi

# two runs make two different tier devices
images
"$DMTIER" format ssd hdd meta >/dev/null
a=$("$DMTIER" check --json meta | jq -r .uuid)
"$DMTIER" format --force ssd hdd meta >/dev/null
b=$("$DMTIER" check --json meta | jq -r .uuid)
[ -n "$a" ] && [ "$a" != "$b" ]
ok $? "each format has a UUID of its own"

# a format that stops half way leaves nothing that looks valid: the superblock is the last write
images
"$DMTIER" format ssd hdd meta >/dev/null
if command -v strace >/dev/null; then
	for n in 1 2 3 4 5 6 7 8; do
		"$DMTIER" format --force ssd hdd meta >/dev/null
		run traced pwrite64:error=EIO:when=$n "" "$DMTIER" format --force ssd hdd meta
		[ "$RC" = 0 ] && break
		run "$DMTIER" check ssd hdd meta
		if [ $n = 1 ]; then
			# it is the one that removes the old superblocks
			is "$RC" 0 "write 1 of format fails: the old metadata are untouched"
		else
			[ "$RC" = 8 ] || [[ $OUT == *"the other copy is good"* ]]
			ok $? "write $n of format fails: no metadata, or complete ones" || diag "$OUT" "$ERR"
		fi
	done
	[ "$n" -gt 5 ]
	ok $? "all writes of format were tried"
	"$DMTIER" format --force ssd hdd meta >/dev/null
	run traced pwrite64:signal=SIGINT:when=3 "" "$DMTIER" format --force ssd hdd meta
	is "$RC" 32 "an interrupted format"
	like "$ERR" "the devices hold no valid metadata" "... says what that means"
	dmtier_is 8 "... and so it is" check meta
else
	skip "no strace"
fi

# ---- what --force overwrites is named ----

truncate -s 64M fssd; truncate -s 256M fhdd; truncate -s 2M fmeta
mkfs.ext4 -q -F -L precious fssd
run "$DMTIER" format --force --dry-run fssd fhdd fmeta
is "$RC" 0 "--force --dry-run over a file system"
like "$ERR" "SSD fssd holds: ext4 file system \(label precious\): that is overwritten without --dry-run" "... names it"
run "$DMTIER" format --force fssd fhdd fmeta
is "$RC" 0 "--force over a file system"
like "$ERR" "SSD fssd holds: ext4 file system \(label precious\): that is overwritten" "... names it"
run "$DMTIER" format --force fssd fhdd fmeta
like "$ERR" "METADATA fmeta holds the metadata of tier device [0-9a-f-]+: that is overwritten" "... and tier metadata"
truncate -s 1G huge
run "$DMTIER" format --dry-run fssd fhdd huge
like "$ERR" "METADATA huge is larger than SSD fssd" "a METADATA device out of all proportion is remarked on"

done_testing
