# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=900
#
# Tiered mode: 16 tiers, files as tiers, each block size, large devices; full to the last sector, and moves all the same.
# shellcheck source=../tiered-lib.sh
. "${0%/*}/../tiered-lib.sh"
load_modules

head -c 128M /dev/urandom >"$WORK/noise"
dmt() { within 300 "$DMTIER" "$@"; }
fill()
{
	dd if="$WORK/noise" of="$T0" bs=1M count=$(($(blockdev --getsz "$T0") * 512)) iflag=count_bytes,fullblock oflag=direct \
		conv=notrunc status=none
}
right() { cmp -n $(($(blockdev --getsz "$T0") * 512)) "$T0" "$WORK/noise"; }
# the sum of a field over all tiers
sum() { local i n=0; for ((i = 0; i < ${#TIERS[@]} + 2; i++)); do n=$((n + $(tier $i "$1"))); done; echo $n; }
rested() { no_jobs && [ $(($(st used | cut -d/ -f1) + $(st free))) = "$(st used | cut -d/ -f2)" ]; }
elsewhere() { where 0 "$(blockdev --getsz "$T0")" | awk -v t="$1" '$3 != t { print $1; exit }'; }

# each_moves		to each tier a block of another one, with everything full
each_moves()
{
	local i before first block

	block=$(st block)
	for ((i = 0; i < ${#TIERS[@]} + 2; i++)); do
		before=$(tier $i in)
		first=$(elsewhere $i)
		msg move $i "$first" "$block" || return
		wait_until 20 rested || return
		[ "$(tier $i in)" -gt "$before" ] || { echo "tier $i did not take the block at sector $first"; return 1; }
	done
}

# ---- sixteen tiers ----
ok "sixteen tiers" new_tiers 64k "3 3 8 3 4 3 3 5 3 3 3 3 3 3 3 3 9" "seqbypass next hotspot" "migration_rate 1000000 commit_ms 100"
get_tiers
is "$(blockdev --getsz "$T0")" $(((13 * 30 + 46 + 62 + 126) * 128)) "the length is that of their usable slots"
ok "all of it is written" fill
all_full() { [ "$(tier 0 used) $(tier 15 used) $(sum used)" = "30 126 $((13 * 30 + 46 + 62 + 126))" ]; }
ok "each tier is full, but for the slots that are kept for moves" wait_until 30 all_full
ok "to each of them something can be moved" each_moves
ok "and they come to rest" wait_until 60 rested
ok "all is right" right
code 0 "remove" dmt remove t0
code 0 "check" check_tiers
ok "create" tiers_up lru "migration off"
ok "all is right" right
code 0 "remove" dmt remove t0

# ---- each block size ----
for kib in 64 128 256 512 1024; do
	ok "blocks of $kib KiB" new_tiers ${kib}k "17 33 8 25" lru "migration_rate 1000000 commit_ms 100"
	get_tiers
	slots=$((16 * 1024 / kib)) more=$((32 * 1024 / kib)) last=$((24 * 1024 / kib))
	kept=0
	for n in $slots $more $last; do n=$((n / 256)); kept=$((kept + (n > 2 ? n : 2))); done
	is "$(blockdev --getsz "$T0")" $(((slots + more + last - kept) * kib * 2)) "the length"
	ok "all of it is written" fill
	is "$(sum used)" $((slots + more + last - kept)) "each block has a slot"
	ok "each tier takes blocks all the same" each_moves
	ok "and they come to rest" wait_until 60 rested
	is "$(sum used)" $((slots + more + last - kept)) "no block is lost"
	ok "all is right" right
	ok "a discard in a block" blkdiscard -o $((5 * kib * 1024)) -l 16384 "$T0"
	ok "is zeros" zeros "$T0" $((10 * kib)) 16384
	dd if="$WORK/noise" of="$T0" bs=4k seek=$((5 * kib / 4)) skip=$((5 * kib / 4)) count=4 oflag=direct conv=notrunc status=none
	code 0 "remove" dmt remove t0
	code 0 "check" check_tiers
	ok "create" tiers_up lru "migration off"
	ok "all is right" right
	ok "all of it discarded" blkdiscard "$T0"
	ok "and free" wait_until 20 rested
	is "$(sum used)" 0 "every slot"
	code 0 "remove" dmt remove t0
done

# ---- files: NVMe over SSD over HDD, and what discards give back ----
ok "the loop driver" modprobe -a loop
files=(nvme ssd hdd)
for f in "${files[@]}"; do truncate -s 32M "$WORK/$f.img"; done
truncate -s 4M "$WORK/meta.img"
for f in "${files[@]}" meta; do losetup -f --show --direct-io=off "$WORK/$f.img"; done >"$WORK/loops"
mapfile -t loops <"$WORK/loops"
DEVS=("${loops[0]}" "${loops[1]}" "${loops[3]}" "${loops[2]}")
in_files() { local f n=0; for f in "${files[@]}"; do n=$((n + $(stat -c %b "$WORK/$f.img"))); done; echo $((n / 2048)); }	# MiB
code 0 "format files" dmt format --mode tiered "${DEVS[@]}"
for passed in yes no; do
	feature="migration off${passed/yes/}"
	feature="${feature/offno/off no_discard_passdown}"
	code 0 "create, discards passed down: $passed" dmt create --feature "$feature" t0 "${DEVS[@]}"
	ok "write" dd if="$WORK/noise" of="$T0" bs=1M count=80 oflag=direct,sync conv=notrunc status=none
	full=$(in_files)
	ok "right" cmp -n 80M "$T0" "$WORK/noise"
	ok "discard" blkdiscard "$T0"
	ok "all is free" wait_until 20 rested
	ok "zeros" zeros "$T0" 0 $((80 << 20))
	sync
	diag "$full MiB in the files, and $(in_files) after the discard"
	if [ $passed = yes ]; then
		ok "the files get small" test "$(in_files)" -lt 10
	else
		ok "the files stay as they are" test "$(in_files)" -ge 80
	fi
	code 0 "remove" dmt remove t0
done
code 0 "check" dmt check "${DEVS[@]}"
losetup -d "${loops[@]}"
rm "$WORK"/*.img
drop_devs

# ---- a large one, thin ----
truncate -s 16G "$WORK/ssd.img"
truncate -s 64G "$WORK/hdd.img"
truncate -s 512M "$WORK/meta.img"
for f in ssd hdd meta; do losetup -f --show "$WORK/$f.img"; done >"$WORK/loops"
mapfile -t loops <"$WORK/loops"
code 0 "format 80 GiB" dmt format --mode tiered --block-size 64k "${loops[@]}"
code 0 "create" dmt create --feature "migration off" t0 "${loops[@]}"
LEN=$(blockdev --getsz "$T0")
seconds() { local begin=$EPOCHREALTIME; "$@"; echo $((10#${EPOCHREALTIME/./} / 1000 - 10#${begin/./} / 1000)); }	# ms
scattered()
{
	local i
	for ((i = 0; i < 200; i++)); do
		dd if="$WORK/noise" of="$T0" bs=64k seek=$((LEN * i / 128 / 200)) skip=$i count=1 oflag=direct conv=notrunc status=none || return
	done
}
ms=$(seconds blkdiscard "$T0")
[ "$ms" -lt $((20000 * LIB_SLOW)) ]
is $? 0 "$((LEN / 128)) blocks without data are discarded in $ms ms"
ok "write here and there" scattered
ok "and a stretch" dd if="$WORK/noise" of="$T0" bs=64k seek=1000000 count=2000 oflag=direct conv=notrunc status=none
ms=$(seconds blkdiscard "$T0")
[ "$ms" -lt $((30000 * LIB_SLOW)) ]
is $? 0 "the same, of which $((2000 + 200)) have data, in $ms ms"
is "$(st used | cut -d/ -f1)" 0 "all is free"
code 0 "remove" dmt remove t0
losetup -d "${loops[@]}"

done_testing
