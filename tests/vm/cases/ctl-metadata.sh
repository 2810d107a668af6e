# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=600
# Metadata and devices that are not what the table takes them for: refused, or made good, never believed.
# shellcheck source=../lib.sh
. "${0%/*}/../lib.sh"
# shellcheck source=ctl-lib.sh
. "${0%/*}/ctl-lib.sh"
# shellcheck disable=SC2119	# all of them
load_modules
setup_devs 16 32 4
T=/dev/mapper/t0
new_dev ssd2 16
new_dev hdd2 32
new_dev meta2 4

# try [WORD...]		create with SSD HDD META and these features
try() { dmsetup create t0 --table "0 65536 tier $SSD $HDD $META 128 $# $* lru 0"; }

# save/restore NAME DEVICE	a device's contents
save() { dd if="$2" of="$WORK/$1" bs=1M conv=sparse iflag=direct status=none; }
restore() { dd if="$WORK/$1" of="$2" bs=1M oflag=direct status=none; }

# flip DEVICE BYTE...		inverts bytes there
flip()
{
	local dev=$1 at v

	shift
	for at; do
		v=$(od -An -tu1 -j "$at" -N 1 "$dev")
		# shellcheck disable=SC2059
		printf "\\x$(printf %x $((v ^ 255)))" | dd of="$dev" bs=1 seek="$at" conv=notrunc status=none
	done
	sync "$dev"
}

# le DEVICE BYTE SIZE		a little-endian number
le() { od -An -tu"$3" -j "$2" -N "$3" "$1" | tr -d ' '; }

# sb_edit BYTE VALUE		a byte of both copies of the superblock, with the checksum right
sb_edit()
{
	python3 - "$META" "$1" "$2" <<'PY'
import sys
table = []
for n in range(256):
    for _ in range(8):
        n = n >> 1 ^ (0x82f63b78 if n & 1 else 0)
    table.append(n)
dev, at, value = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with open(dev, "r+b", buffering=0) as f:
    for block in 0, 16:
        f.seek(block * 4096)
        sb = bytearray(f.read(4096))
        sb[at] = value
        crc = 0xffffffff
        for b in sb[4:]:
            crc = crc >> 8 ^ table[(crc ^ b) & 255]
        sb[0:4] = crc.to_bytes(4, "little")
        f.seek(block * 4096)
        f.write(sb)
PY
	sync "$META"
}

# --- not formatted ----------------------------------------------------------------------------

refused "zeroed metadata" "not formatted" try
pattern "$WORK/junk" 4
restore junk "$META"
refused "metadata device with something else on it" "holds something else" try
dmsetup create tiny --table "0 128 linear $META 0"
refused "a metadata device of 64 KiB" "too small to hold any metadata" \
	dmsetup create t0 --table "0 65536 tier $SSD $HDD /dev/mapper/tiny 128 0 lru 0"
dmsetup remove tiny

# --- a set with clean and dirty data ----------------------------------------------------------

restore junk "$HDD"
ok "format another set" "$DMTIER" format --force --block-size 64k /dev/mapper/ssd2 /dev/mapper/hdd2 /dev/mapper/meta2
ok "format" format_set --block-size 64k
ok "create" try idle_ms 3600000
pattern "$WORK/data" 1
wr $T 1024 256 "$WORK/data"
flush t0
ok "stop, clean" stop t0
save ssd "$SSD"
save hdd "$HDD"
save meta "$META"

ok "the good set starts" try
ok "and has the data" same "$WORK/data" $T 1024 256
holds "from the copies" t0 read_misses -eq 0
stop t0
restore meta "$META"
restore ssd "$SSD"

refused "SSD of another set" "fast device belongs to other metadata" \
	dmsetup create t0 --table "0 65536 tier /dev/mapper/ssd2 $HDD $META 128 0 lru 0"
refused "metadata of another set" "fast device belongs to other metadata" \
	dmsetup create t0 --table "0 65536 tier $SSD $HDD /dev/mapper/meta2 128 0 lru 0"
dd if=/dev/zero of="$SSD" bs=4k count=1 oflag=direct status=none
refused "a blank SSD" "fast device is not formatted" try
pattern "$WORK/junk2" 1
dd if="$WORK/junk2" of="$SSD" bs=4k count=1 oflag=direct status=none
refused "an SSD with something else on it" "fast device holds something else" try
restore ssd "$SSD"
flip "$SSD" 2000
refused "an SSD with a damaged header" "device header: checksum" try
restore ssd "$SSD"

sb_edit 32 2
refused "metadata of a newer version" "newer" try
"$DMTIER" check "$META" >/dev/null 2>&1
is $? 64 "dmtier check tells it from damage"
restore meta "$META"
sb_edit 56 128
refused "an unknown incompat feature" "features? that this version does not know" try
restore meta "$META"
sb_edit 48 128
refused "an unknown compat_ro feature" "must not write" try
restore meta "$META"
sb_edit 40 128
ok "an unknown compat feature is none of our business" try
ok "stop" stop t0
restore meta "$META"
restore ssd "$SSD"
sb_edit 4 3
refused "metadata that need a check" "need a check" try
restore meta "$META"

used=$(($(le "$META" 152 8) * 8))
dmsetup create short --table "0 $((used - 8)) linear $META 0"
refused "a truncated metadata device" "truncated" \
	dmsetup create t0 --table "0 65536 tier $SSD $HDD /dev/mapper/short 128 0 lru 0"
dmsetup remove short

# --- flipped bits -----------------------------------------------------------------------------

klog_mark
flip "$META" 100
ok "first superblock bad: starts" try
like "$(klog)" "first copy of the superblock is bad" "with a warning"
stop t0
klog_mark
ok "and again" try
unlike "$(klog)" "superblock is bad" "having made it good"
stop t0
restore meta "$META"
restore ssd "$SSD"
klog_mark
flip "$META" $((65536 + 100))
ok "second superblock bad: starts" try
like "$(klog)" "second copy of the superblock is bad" "with a warning"
stop t0
restore meta "$META"
restore ssd "$SSD"
flip "$META" 100 $((65536 + 100))
refused "both superblocks bad" "both copies of the superblock are bad" try
restore meta "$META"
flip "$META" 12 $((65536 + 12))
refused "both superblocks' magic bad" "superblock|holds something else" try
restore meta "$META"

slots=$(($(le "$META" 136 8) * 4096))
intent=$(($(le "$META" 112 8) * 4096))
for c in 0 262144; do
	klog_mark
	flip "$META" $((slots + c + 50))
	ok "a slot page's copy bad: starts" try
	like "$(klog)" "slot page 0.*is bad" "with a warning"
	ok "with its copies" same "$WORK/data" $T 1024 256
	holds "all of them" t0 read_misses -eq 0
	stop t0
	restore meta "$META"
	restore ssd "$SSD"
done
flip "$META" $((slots + 50)) $((slots + 262144 + 50))
refused "a slot page bad in both copies" "both copies of slot page 0 are bad" try
restore meta "$META"
flip "$META" $((intent + 50)) $((intent + 4096 + 50))
refused "the intent page bad in both copies" "both copies of intent page" try
restore meta "$META"

# --- the journal damaged after a clean stop ---------------------------------------------------

bad=$(($(le "$META" 120 8) + 9))
zero_bad() { dd if=/dev/zero of="$META" bs=4k seek="$bad" count=1 oflag=direct status=none; }
zero_bad
out=$("$DMTIER" check "$SSD" "$HDD" "$META" 2>&1)
is $? 4 "a block of the journal zeroed: dmtier check finds it"
like "$out" "recoverable: journal, metadata block $bad: sector 0: .*nothing of it is needed" "and that nothing is lost"
klog_mark
ok "it starts" try idle_ms 3600000
like "$(klog)" "journal is damaged \(metadata block $bad, sector 0\): .*blank.*nothing of it is needed" "with a warning"
like "$(klog)" "journal was written anew" "and makes it good"
ok "with its copies" same "$WORK/data" $T 1024 256
holds "all of them" t0 read_misses -eq 0
wr $T 2048 64 "$WORK/data"
sync $T
save live-meta "$META"
save live-ssd "$SSD"
stop t0
ok "then all is good" "$DMTIER" check "$SSD" "$HDD" "$META"
restore live-meta "$META"
restore live-ssd "$SSD"
ok "also after a power cut" "$DMTIER" check "$SSD" "$HDD" "$META"
ok "which it starts from" try
ok "with what was written since" same "$WORK/data" $T 2048 64
stop t0
restore meta "$META"
restore ssd "$SSD"
dev_bad meta $((bad * 8)) 8 read
klog_mark
ok "it can't be read: starts" try
like "$(klog)" "metadata block $bad: read error.*journal is damaged \(metadata block $bad" "with a warning"
ok "with its copies" same "$WORK/data" $T 1024 256
stop t0
dev_ok meta
ok "and is good afterwards" "$DMTIER" check "$SSD" "$HDD" "$META"
restore meta "$META"
restore ssd "$SSD"

# --- an unclean stop, and its journal ---------------------------------------------------------

ok "create" try idle_ms 3600000
wr $T 2048 64 "$WORK/data"
for i in {1..6}; do
	wr $T $((3072 + i * 16)) 16 "$WORK/data"
	sync $T
done
holds "the journal is in use" t0 journal_used -gt 1
dmsetup suspend --noflush t0 && dmsetup resume t0	# no effect on the journal's end, but on its start
for i in {1..6}; do
	wr $T $((4096 + i * 16)) 16 "$WORK/data"
	sync $T
done
save live-meta "$META"
save live-ssd "$SSD"
journal=$(($(le "$META" 120 8) * 4096))
tail=$(($(le "$META" 168 8) * 4096))
stop t0
crash() { restore live-meta "$META" && restore live-ssd "$SSD"; }
crash
ok "after a crash it starts" try idle_ms 3600000
ok "with the dirty data" same "$WORK/data" $T 2048 64
ok "and those of the journal" same "$WORK/data" $T 4192 16
holds "exactly as dirty" t0 dirty -eq 256
stop t0
crash
flip "$META" $((journal + tail + 40))
refused "a bit flip in the journal" "journal is damaged \(metadata block $(((journal + tail) / 4096)), sector 0\)" try
crash
ok "without it" try
stop t0

# --- stale ------------------------------------------------------------------------------------

restore ssd "$SSD"
refused "the SSD as it was before" "fast device is stale" try
crash
restore meta "$META"
refused "the metadata as they were before" "metadata are stale" try

# --- in use -----------------------------------------------------------------------------------

restore meta "$META"
restore ssd "$SSD"
ok "create" try idle_ms 3600000
A="$SSD $HDD $META" B="/dev/mapper/ssd2 /dev/mapper/hdd2 /dev/mapper/meta2"
other() { dmsetup create t1 --table "0 65536 tier $1 $2 $3 128 0 lru 0"; }
# shellcheck disable=SC2086
refused "all three devices in use" "in use by another active tier device" other $A
# shellcheck disable=SC2086
set -- $A $B
refused "the SSD in use" "fast device is in use" other "$1" "$5" "$6"
refused "the HDD in use" "slow device is in use" other "$4" "$2" "$6"
refused "the metadata in use" "metadata device is in use" other "$4" "$5" "$3"
refused "the HDD as another's SSD" "fast device is in use|not formatted" other "$2" "$5" "$6"
dd if="$META" of=/dev/mapper/meta2 bs=1M oflag=direct status=none
dd if="$SSD" of=/dev/mapper/ssd2 bs=1M oflag=direct status=none
refused "copies of SSD and metadata while these are active" "this UUID are active" other "$4" "$5" "$6"
ok "nothing of it is left" no_dev t1
ok "the first works on" wr $T 0 4 "$WORK/data"
ok "stop" stop t0
save meta "$META"
save ssd "$SSD"

# --- the HDD was written to -------------------------------------------------------------------

ok "create" try idle_ms 3600000
flush t0
same "$WORK/data" $T 1024 256
get_status t0
used=${S[used]}
stop t0
dd if="$WORK/junk" of="$HDD" bs=64k count=1 oflag=direct status=none
dd if="$WORK/junk" of="$HDD" bs=1M seek=4 count=1 oflag=direct status=none
klog_mark
ok "HDD written to, nothing dirty: starts" try idle_ms 3600000
like "$(klog)" "slow device was written to.*clean copies are dropped" "with a warning"
ok "shows what is there now" same "$WORK/junk" $T 1024 256
isnt "$used" 0 "(there were copies)"
wr $T 0 16 "$WORK/data"
get_status t0
isnt "${S[dirty]}" 0 "now some are dirty"
dirty=${S[dirty]}
stop t0
save meta "$META"
save ssd "$SSD"
dd if="$WORK/junk" of="$HDD" bs=4k seek=2 count=1 skip=77 oflag=direct status=none
refused "HDD written to under dirty data" "written to.*accept_changed_slow" try
ok "no device is left" no_dev t0
klog_mark
ok "accept_changed_slow starts it" try accept_changed_slow idle_ms 3600000
like "$(klog)" "clean copies are dropped" "with a warning"
holds "as dirty as it was" t0 dirty -eq "$dirty"
ok "the newer data win" same "$WORK/data" $T 0 16
like "$(dmsetup table t0)" "accept_changed_slow" "the table shows it"
stop t0
ok "and without it afterwards" try
stop t0
refused_done

# --- shorter and longer -----------------------------------------------------------------------

ok "check" "$DMTIER" check "$SSD" "$HDD" "$META"
done_testing
