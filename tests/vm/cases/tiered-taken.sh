# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=600
# vmtap: ignore=Buffer I/O error|I/O error, dev
#
# A disk that was taken over has no header: how it is known, also if another tier device lies on top, and if it has grown.
# shellcheck source=../tiered-lib.sh
. "${0%/*}/../tiered-lib.sh"
load_modules

dmt() { within 120 "$DMTIER" "$@"; }
up() { dmt create "$@" t0 "$SSD" "$HDD" "$META"; }
log() { klog | grep -cF -- "$1"; }
right() { cmp -n $((8 << 20)) -i $((8 << 20)) "$T0" "$WORK/noise"; }
DEVS=("ssd 12" "hdd 32" "meta 8")
each() { local d; for d in "${DEVS[@]}"; do "$1" "/dev/mapper/${d% *}" "$WORK/crash.${d% *}" || return; done; }
save() { dd if="$1" of="$2" bs=1M iflag=direct status=none; }
restore() { dd if="$2" of="$1" bs=1M oflag=direct conv=notrunc,nocreat status=none; }

setup_devs 12 32 8
new_dev fast2 20
new_dev meta2 8
N1=/dev/mapper/n1 FAST2=/dev/mapper/fast2 META2=/dev/mapper/meta2
head -c 32M /dev/urandom >"$WORK/noise"
dd if="$WORK/noise" of="$HDD" bs=1M oflag=direct conv=notrunc,nocreat status=none
code 0 "format" dmt format --mode tiered --take-data --block-size 64k "$SSD" "$HDD" "$META"
# ---- another disk in its place before the first start, or the disk is used once more ----
new_dev other 32
dd if="$WORK/noise" of=/dev/mapper/other bs=1M seek=1 oflag=direct conv=notrunc,nocreat status=none
code 8 "another disk is noticed" dmt check "$SSD" /dev/mapper/other "$META"
nok "and does not start" dmt create --feature "migration off" t0 "$SSD" /dev/mapper/other "$META"
ok "a sample of the disk changes" dd if=/dev/zero of="$HDD" bs=1M seek=1 oflag=direct conv=notrunc,nocreat status=none count=31
nok "that is noticed, too" up --feature "migration off"
dd if="$WORK/noise" of="$HDD" bs=1M oflag=direct conv=notrunc,nocreat status=none
code 0 "create" up --feature "migration off"

# ---- another tier device on the whole of it ----
code 0 "format a tiered device with this one as its first tier" dmt format --force --mode tiered --block-size 64k "$T0" "$FAST2" "$META2"
code 0 "create" dmt create n1 "$T0" "$FAST2" "$META2"
ok "write to it" dd if="$WORK/noise" of=$N1 bs=1M count=4 oflag=direct,sync conv=notrunc status=none
n1_right() { cmp -n $((4 << 20)) $N1 "$WORK/noise"; }
code 0 "remove the upper one" dmt remove n1
code 0 "and the lower one" dmt remove t0
code 0 "the lower one's disk begins like a tier of the upper one" dmt check --force "$SSD" "$HDD" "$META"
unlike "$OUT" "belongs to another" "and is known all the same"
code 0 "it starts" up --feature "migration off"
code 0 "and the upper one" dmt create n1 "$T0" "$FAST2" "$META2"
ok "all is right" n1_right
LEN=$(blockdev --getsz "$T0")
ok "a power cut" each save
code 0 "remove the upper one" dmt remove n1
code 0 "and the lower one" dmt remove t0
nok "a disk of another tier device is not taken for it" dmsetup create t0 --table "0 $LEN tier $SSD $FAST2 $META 128 1 tiered lru 0"
ok "the log says why" test "$(log "device belongs to other metadata")" -ge 1
klog_mark
ok "the power comes back" each restore
nok "by its size alone it isn't known" up
ok "the log says what would take it" test "$(log "accept_changed_slow starts all the same")" -ge 1
code 0 "that does" up --feature "migration off accept_changed_slow"
code 0 "and the upper one starts" dmt create n1 "$T0" "$FAST2" "$META2"
ok "all is right" n1_right
code 0 "remove the upper one" dmt remove n1
code 0 "and the lower one" dmt remove t0

# ---- nobody could look at it at the stop ----
new_dev other 32
ok "a disk of its size that belongs to another tier device" dd if="$FAST2" of=/dev/mapper/other bs=4k count=1 oflag=direct status=none
code 0 "create" up --feature "migration off"
dev_fail hdd read
ok "a stop without a fingerprint" dmsetup remove t0
dev_ok hdd
nok "that one is not taken for it" dmsetup create t0 --table "0 $LEN tier $SSD /dev/mapper/other $META 128 1 tiered lru 0"
code 0 "it itself is, if asked for" up --feature "migration off accept_changed_slow"
code 0 "and the upper one starts" dmt create n1 "$T0" "$FAST2" "$META2"
ok "all is right" n1_right
code 0 "remove the upper one" dmt remove n1
code 0 "and the lower one" dmt remove t0

# ---- it grows ----
dd if="$WORK/noise" of="$HDD" bs=1M oflag=direct conv=notrunc,nocreat status=none
DEVS=("ssd 12" "small 32" "meta 8")
ok "the disk, shorter" dmsetup create small --table "0 $((24 << 11)) linear $HDD 0"
HDD=/dev/mapper/small
grow() { dmsetup suspend --noflush --nolockfs small && dmsetup load small --table "0 $1 linear /dev/mapper/hdd 0" && dmsetup resume small; }
dd if=/dev/zero of="$SSD" bs=1M count=1 oflag=direct conv=notrunc,nocreat status=none
code 0 "format" dmt format --force --mode tiered --take-data --block-size 64k "$SSD" "$HDD" "$META"
code 0 "create" up --feature "migration off"
len=$(blockdev --getsz "$T0")
ok "right" right
ok "it grows while in use" grow $((28 << 11))
ok "a reload as it was" sh -c "dmsetup table t0 | dmsetup load t0 && dmsetup suspend --nolockfs t0 && dmsetup resume t0"
is "$(tier 1 slots)" $((28 * 16)) "has more slots"
ok "it grows again" grow $((30 << 11))
ok "and the device with it" sh -c "$DMTIER table --grow --feature 'migration off' $SSD $HDD $META | dmsetup load t0 && dmsetup suspend --nolockfs t0 && dmsetup resume t0"
ok "it is longer" test "$(blockdev --getsz "$T0")" -gt "$len"
ok "right" right
ok "a write" dd if="$WORK/noise" of="$T0" bs=64k seek=128 skip=128 count=4 oflag=direct,sync conv=notrunc status=none
ok "a power cut" each save
code 0 "remove" dmt remove t0
ok "the power comes back" each restore
ok "with a larger disk" grow $((32 << 11))
code 0 "it starts read-only" up --readonly
ok "right" right
code 0 "remove" dmt remove t0
code 0 "and else" up --feature "migration off"
is "$(tier 1 slots)" $((32 * 16)) "with more slots"
ok "right" right
code 0 "remove" dmt remove t0
code 0 "metadata" dmt check "$SSD" "$HDD" "$META"

# ---- a new tier is just as large ----
ok "the whole disk again" dmsetup remove small
HDD=/dev/mapper/hdd TWIN=/dev/mapper/twin
DEVS=("ssd 12" "hdd 32" "meta 8")
new_dev twin 32
blank() { dd if=/dev/zero of="$1" bs=1M oflag=direct status=none 2>/dev/null; blockdev --flushbufs "$1"; }
# take FILE	the disk, with these data
take()
{
	[ ! -b "$T0" ] || dmsetup remove t0 || return
	blank "$SSD"; blank "$TWIN"
	dd if="$1" of="$HDD" bs=1M count=32 oflag=direct conv=notrunc,nocreat iflag=fullblock status=none &&
		dmt format --force --mode tiered --take-data --block-size 64k "$SSD" "$HDD" "$META" && up --feature "migration off"
}
table() { dmt table --grow --feature "accept_new_tier migration off" "$@" >"$WORK/table"; }
swap() { dmsetup load t0 "$WORK/table" && dmsetup suspend --nolockfs t0 && dmsetup resume t0; }
used() { echo "$(tier 0 used) $(tier 1 used) $(tier 2 used)"; }

ok "take the disk" take "$WORK/noise"
ok "a table with a blank one behind it" table "$SSD" "$HDD" "$META" "$TWIN"
ok "it is taken in" swap
is "$(used)" "0 512 0" "as the last tier, empty"
ok "the device is longer" test "$(blockdev --getsz "$T0")" -gt $((60 << 11))
ok "right" right
ok "a block moves there" sh -c "dmsetup message t0 0 move 2 0 128"
ok "does" wait_until 20 no_jobs
code 0 "stop" dmt remove t0
code 0 "metadata" dmt check "$SSD" "$HDD" "$META" "$TWIN"
code 0 "start" dmt create --feature "migration off" t0 "$SSD" "$HDD" "$META" "$TWIN"
is "$(used)" "0 511 1" "with all that was there"
ok "right" right

ok "a disk of zeros" take /dev/zero
ok "nothing but the device tells it from a blank one, which comes in front" table "$SSD" "$TWIN" "$META" "$HDD"
ok "that is taken in, though it was stopped before the table was loaded" \
	sh -c "dmsetup suspend --nolockfs t0 && dmsetup load t0 '$WORK/table' && dmsetup resume t0"
is "$(used)" "0 0 512" "as the tier in between, empty"
ok "the device is in use" dd if="$WORK/noise" of="$T0" bs=1M count=16 oflag=direct,sync conv=notrunc status=none
ok "right" right

ok "take the disk" take "$WORK/noise"
ok "a write to it" dd if="$WORK/noise" of="$T0" bs=1M skip=2 seek=2 count=1 oflag=direct conv=notrunc status=none
ok "a table with the blank one in front" table "$SSD" "$TWIN" "$META" "$HDD"
ok "is loaded" dmsetup load t0 "$WORK/table"
dev_fail hdd flush
ok "a stop that is not clean" dmsetup suspend --nolockfs t0
ok "it is taken in" dmsetup resume t0
dev_ok hdd
is "$(used)" "0 0 512" "as the tier in between, empty"
ok "right" right

ok "take the disk" take "$WORK/noise"
ok "a write to it" dd if="$WORK/noise" of="$T0" bs=1M skip=2 seek=2 count=1 oflag=direct conv=notrunc status=none
ok "a power cut" each save
code 0 "remove" dmt remove t0
ok "the power comes back" each restore
klog_mark
nok "nothing but the size is known of it: with the blank one, it isn't started" \
	dmt create --feature "accept_new_tier migration off" t0 "$SSD" "$TWIN" "$META" "$HDD"
ok "the log says why, and what to do" \
	test "$(log "tiers 1 and 2: either may be the tier without header, nothing tells which: start without the new one")" -ge 1
code 0 "without the new one" up --feature "migration off"
ok "right" right
ok "a table with both" table "$SSD" "$TWIN" "$META" "$HDD"
ok "now it is taken in" swap
is "$(used)" "0 0 512" "as the tier in between, empty"
ok "right" right
code 0 "remove" dmt remove t0
code 0 "metadata" dmt check "$SSD" "$TWIN" "$META" "$HDD"
done_testing
