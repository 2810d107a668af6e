# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=900
# vmtap: disk=zssd:size=16M
# vmtap: disk=zhdd:size=64M
#
# Write-zeroes requests as such: the devices must be able to do them, as null_blk isn't.
# shellcheck source=../io-lib.sh
. "${0%/*}/../io-lib.sh"
load_modules
need_disk zssd zhdd

ok "fast device" wrap_dev ssd /dev/zssd
ok "slow device" wrap_dev hdd /dev/zhdd
ok "metadata device" new_dev meta 8
ok "format" tier_format --block-size 64k
ok "create" tier_up writeback lru
isnt "$(cat "$(queue_dir "$T0")/write_zeroes_max_bytes")" 0 "write-zeroes are offered"
ok "zero all" blkdiscard -z "$T0"
for mode in writeback writethrough writearound passthrough; do
	ok "$mode" set_mode $mode
	ok "$mode: zeroes beside I/O" "$IOSTRESS" run --seconds 4 --seed $RANDOM --zeroes 20 --discards 3 "$T0" "$WORK/state"
done
ok "writeback" set_mode writeback
ok "I/O" "$IOSTRESS" run --seconds 2 --seed $RANDOM "$T0" "$WORK/state"
ok "zero all" blkdiscard -z -o 512 -l $((64 * 1048576 - 1024)) "$T0"
is "$(dd if="$T0" bs=1M iflag=direct 2>/dev/null | tail -c +513 | head -c -512 | tr -d '\0' | wc -c)" 0 "zeros"
ok "flush" flush_all
ok "both agree" same "$HDD" "$T0"
ok "remove" dmsetup remove t0
ok "metadata" check_meta
done_testing
