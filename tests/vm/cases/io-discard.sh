# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=900
#
# Discards and write-zeroes.
# shellcheck source=../io-lib.sh
. "${0%/*}/../io-lib.sh"
load_modules

quiet_line=("dirty_high 99" "idle_ms 3600000")
pattern()	# BYTE SECTOR SECTORS
{
	head -c $(($3 * 512)) /dev/zero | tr '\0' "$1" >"$WORK/pattern"
	dd if="$WORK/pattern" of="$T0" bs=64k seek=$(($2 * 512)) oflag=direct,seek_bytes conv=notrunc 2>/dev/null
}
# what sectors read as, a letter and a count for each run; a dot is a zero
reads()		# DEVICE SECTOR SECTORS
{
	dd if="$1" bs=64k skip=$(($2 * 512)) count=$(($3 * 512)) iflag=direct,skip_bytes,count_bytes 2>/dev/null |
		tr '\0' . | fold -b -w 512 | cut -b1 | uniq -c | awk '{ printf "%s%s%s", (NR > 1) ? " " : "", $2, $1 }'
}
no_slot_used() { [[ $(st used) == 0/* ]]; }
written_back() { st write_back_sectors; }

ok "create" new_tier 16 64 8 64k writeback lru "${quiet_line[@]}"
q=$(queue_dir "$T0")
is "$(cat "$q/discard_granularity")" 4096 "discard granularity is the granule"

# --- all of it, dirty ---
pattern x 0 16384
is "$(st dirty)" 2048 "8 MiB are dirty"
ok "discard all" blkdiscard "$T0"
is "$(st dirty)" 0 "nothing is dirty"
is "$(written_back)" 0 "nothing was written back"
ok "no slot is in use" wait_until 10 no_slot_used
is "$(reads "$T0" 0 16384)" ".16384" "reads as zeros"
is "$(reads "$HDD" 0 16384)" ".16384" "the slow device never got it"

# --- edges ---
pattern a 0 64
ok "discard sectors 3 to 29" blkdiscard -o $((3 * 512)) -l $((26 * 512)) "$T0"
is "$(reads "$T0" 0 64)" "a8 .16 a40" "whole granules only"
is "$(st dirty)" 6 "the rest is dirty still"
pattern b 64 64
ok "discard less than a granule" blkdiscard -o $((65 * 512)) -l $((6 * 512)) "$T0"
is "$(reads "$T0" 64 64)" "b64" "changes nothing"
ok "discard across blocks" blkdiscard -o $((120 * 512)) -l $((200 * 512)) "$T0"
is "$(reads "$T0" 64 512)" "b56 .456" "from one block into others"
ok "flush" flush_all
is "$(reads "$HDD" 0 128)" "a8 .16 a40 b56 .8" "the slow device holds the same"

# --- clean copies, data of the slow device ---
pattern c 4096 256
ok "flush" flush_all
ok "discard clean copies" blkdiscard -o $((4096 * 512)) -l $((128 * 512)) "$T0"
is "$(reads "$T0" 4096 256)" ".128 c128" "they are gone"
is "$(reads "$HDD" 4096 256)" ".128 c128" "on the slow device too"
ok "writethrough" set_mode writethrough
pattern d 8192 256
ok "discard in writethrough" blkdiscard -o $((8192 * 512)) -l $((128 * 512)) "$T0"
is "$(reads "$T0" 8192 256)" ".128 d128" "is done"
ok "writeback" set_mode writeback

# --- survives a new start ---
pattern e 16384 256
ok "discard" blkdiscard -o $((16384 * 512)) -l $((128 * 512)) "$T0"
pattern f 16400 8
ok "remove" dmsetup remove t0
ok "metadata" check_meta
ok "create" tier_up writeback lru "${quiet_line[@]}"
is "$(reads "$T0" 16384 256)" ".16 f8 .104 e128" "what was discarded stays so"

# --- zeroes ---
pattern g 20480 256
ok "zero" blkdiscard -z -o $(((20480 + 5) * 512)) -l $((100 * 512)) "$T0"
is "$(reads "$T0" 20480 256)" "g5 .100 g151" "to the sector"
ok "flush" flush_all
is "$(reads "$HDD" 20480 256)" "g5 .100 g151" "on the slow device too"
ok "zero what is clean" blkdiscard -z -o $(((20480 + 110) * 512)) -l $((50 * 512)) "$T0"
is "$(reads "$T0" 20480 256)" "g5 .100 g5 .50 g96" "to the sector"
ok "zero without the mapping" fallocate -z -o $((22000 * 512)) -l $((4096 * 512)) "$T0"
is "$(reads "$T0" 22000 4096)" ".4096" "zeros"

# --- beside I/O ---
"$IOSTRESS" run --seconds 1 --sectors 8 "$T0" "$WORK/dummy" >/dev/null
ok "zero all" blkdiscard -z "$T0"
ok "discards beside I/O" "$IOSTRESS" run --seconds 3 --seed $RANDOM --discards 20 --zeroes 10 "$T0" "$WORK/state"
ok "writethrough" set_mode writethrough
ok "discards beside I/O in writethrough" "$IOSTRESS" run --seconds 3 --seed $RANDOM --discards 20 --zeroes 10 "$T0" "$WORK/state"
ok "slow device" "$IOSTRESS" verify "$HDD" "$WORK/state"
ok "writeback" set_mode writeback
repeat blkdiscard -o $((56 << 20)) -l $((8 << 20)) "$T0"
ok "large discards beside I/O" "$IOSTRESS" run --seconds 3 --seed $RANDOM --sectors $((56 * 2048)) --discards 5 "$T0" "$WORK/state"
stop_repeating
is $? 0 "the discards end"
ok "remove" dmsetup remove t0
ok "metadata" check_meta

# --- not passed down ---
ok "create, no_discard_passdown" tier_up writeback lru "${quiet_line[@]}" no_discard_passdown
like "$(dmsetup table t0)" " no_discard_passdown" "the table line says so"
pattern h 0 256
ok "flush" flush_all
pattern i 128 128
ok "discard" blkdiscard -l $((256 * 512)) "$T0"
is "$(st dirty)" 0 "dirty data are dropped"
is "$(reads "$HDD" 0 256)" "h256" "the slow device was not told"
is "$(reads "$T0" 0 256)" "h256" "and shows through"
ok "remove" dmsetup remove t0

# --- a slow device without discards ---
drop_devs
ok "ssd" new_dev ssd 16
DEV_DISCARD=0 ok "hdd without discards" new_dev hdd 64
ok "meta" new_dev meta 8
ok "format" tier_format --block-size 64k
ok "create" tier_up writeback lru "${quiet_line[@]}"
pattern j 0 256
ok "discard" blkdiscard "$T0"
is "$(st dirty)" 0 "no discards below: dirty data are dropped all the same"
ok "I/O" "$IOSTRESS" run --seconds 3 --seed $RANDOM --discards 10 --first 4096 "$T0" "$WORK/state3"
ok "remove" dmsetup remove t0
ok "metadata" check_meta
done_testing
