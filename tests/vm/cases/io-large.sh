# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=900
#
# A slow device of more than 2 TiB: at its start, around 2 TiB, and at its end.
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
done_testing
