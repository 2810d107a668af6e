# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=900
#
# Devices of more than 2 TiB: the slow one at its start, around 2 TiB, and at its end; then both.
# shellcheck source=../io-lib.sh
. "${0%/*}/../io-lib.sh"
load_modules

sectors=$((3 * 2147483648 + 5))		# 3 TiB and a bit
area=16384
declare -A at=([start]=0 [middle]=$((4294967296 - area / 2 - 3)) [end]=$((sectors - area)))

# null_blk would go through 3 TiB page by page
DEV_DISCARD=0 ok "create" new_tier 10 ${sectors}s 64 64k writeback lru
is "$(blockdev --getsz "$T0")" $sectors "the length"
for mode in writeback writethrough; do
	ok "$mode" msg mode $mode
	for a in start middle end; do
		ok "$mode: $a" "$IOSTRESS" run --seconds 2 --seed $RANDOM --first "${at[$a]}" --sectors $area \
			--granule 1024 --discards 0 "$T0" "$WORK/state-$a"
	done
	for a in start middle end; do
		ok "$mode: $a is still the same" "$IOSTRESS" verify --first "${at[$a]}" --sectors $area "$T0" "$WORK/state-$a"
	done
done
ok "settles" set_mode writethrough
for a in start middle end; do
	ok "slow device: $a" "$IOSTRESS" verify --first "${at[$a]}" --sectors $area "$HDD" "$WORK/state-$a"
done
ok "discard around 2 TiB" blkdiscard -o $(((at[middle] - 5) * 512)) -l $((1024 * 1024)) "$T0"
ok "discard of all" blkdiscard "$T0"
is "$(st dirty)" 0 "nothing is dirty"
ok "remove" dmsetup remove t0
ok "metadata" check_meta
drop_devs

# The fast device: slots before, across and behind 2 TiB hold the blocks 0 to 15, as the metadata says.
META_EDIT=$TIER_TOP/tests/tools/build/meta-edit
slots=2100000				# of 1 MiB; the first one is the header
area=$((16 * 2048))
DEV_DISCARD=0 ok "two large devices" fresh ${slots} ${sectors}s 180 --block-size 1m
nr=$((slots - 1))
data_start=2048				# sectors, docs/format.md
at2t=$((4294967296 / 2048))
for ((b = 0; b < 16; b++)); do
	slot[b]=$((b < 8 ? at2t - 4 + b : nr - 16 + b))
	"$META_EDIT" "$META" slot "${slot[b]}" $b ffffffff 0 || diag "meta-edit failed"
done
ok "create" tier_up writeback lru
free=$(st free)
is "$(st used)" "16/$nr" "the slots"
for mode in writeback writethrough; do
	ok "$mode" msg mode $mode
	ok "$mode: I/O" "$IOSTRESS" run --seconds 3 --seed $RANDOM --sectors $area --granule 64 --discards 0 "$T0" "$WORK/state"
	ok "$mode: is still the same" "$IOSTRESS" verify --sectors $area "$T0" "$WORK/state"
done
is "$(st free)" "$free" "no other slot was used"
ok "settles" set_mode writethrough
ok "slow device" "$IOSTRESS" verify --sectors $area "$HDD" "$WORK/state"
dd if="$T0" of="$WORK/want" bs=1M count=16 iflag=direct 2>/dev/null
for ((b = 0; b < 16; b++)); do
	dd if="$SSD" bs=512 skip=$((data_start + slot[b] * 2048)) count=2048 iflag=direct 2>/dev/null
done >"$WORK/got"
ok "the copies stand where the slots are" cmp "$WORK/want" "$WORK/got"
ok "discard" blkdiscard -l 16M "$T0"
ok "remove" dmsetup remove t0
ok "metadata" check_meta
done_testing
