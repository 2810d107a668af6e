#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# dmtier format: what it refuses, what it says then, and that it wrote nothing.
. "$(dirname "$0")/common.sh"

# FILES MESSAGE DESCRIPTION ARGUMENT...: refused with exit code 8, FILES (of blank-separated names) unchanged
refused()
{
	local files=$1 message=$2 what=$3 before

	shift 3
	# shellcheck disable=SC2086
	before=$(sums $files)
	run "$DMTIER" format "$@"
	is "$RC" 8 "$what: refused" || diag "$OUT" "$ERR"
	like "$ERR" "$message" "... says why"
	# shellcheck disable=SC2086
	is "$(sums $files)" "$before" "... wrote nothing"
}

# ---- another dmtier at the same time ----
images
for f in ssd meta; do
	exec 9<$f
	flock 9
	refused "ssd hdd meta" "$f is in use" "$f, which another one writes" --force ssd hdd meta
	exec 9<&-
done

# ---- the same device twice ----
images
ln -s ssd link
ln ssd hard
refused "ssd hdd" "SSD ssd and METADATA ssd are the same" "SSD as METADATA" ssd hdd ssd
refused "ssd meta" "SSD ssd and HDD ssd are the same" "SSD as HDD" ssd ssd meta
refused "ssd hdd" "HDD hdd and METADATA hdd are the same" "HDD as METADATA" ssd hdd hdd
refused "ssd hdd" "SSD ssd and METADATA link are the same" "by a symbolic link" ssd hdd link
refused "ssd hdd" "SSD ssd and HDD hard are the same" "by a hard link" ssd hard meta
refused "ssd hdd" "are the same" "--force does not help" --force ssd hdd ssd

# ---- sizes ----
images 20M 64M 4M
image small 100k
refused "ssd hdd small" "METADATA small is too small: [0-9]+ bytes .* are needed, it has 102400" "small METADATA" \
	ssd hdd small
needed=$(sed -n 's/.*too small: \([0-9]*\) bytes.*/\1/p' <<<"$ERR")
image small $((needed - 4096))
refused "ssd hdd small" "too small" "METADATA one block too small" ssd hdd small
image small "$needed"
dmtier_is 0 "what it asks for is enough" format ssd hdd small
image tiny 1M
refused "tiny hdd meta" "fast device is too small" "SSD without room for a block" tiny hdd meta
image empty 0
refused "ssd meta" "slow device is empty" "empty HDD" ssd empty meta
refused "empty hdd meta" "fast device is too small" "empty SSD" empty hdd meta

# in the wrong order
images 64M 20M 4M
refused "ssd hdd meta" "SSD ssd \(64 MiB\) is larger than HDD hdd \(20 MiB\): is the order right[?] --force" "SSD larger than HDD" \
	ssd hdd meta
refused "ssd hdd meta" "is larger than HDD" "... dry run" --dry-run ssd hdd meta
image small 100k
refused "ssd hdd small" "is larger than HDD" "... before METADATA is found too small" ssd hdd small
dmtier_is 0 "... --force" format --force ssd hdd meta
like "$ERR" "warning: SSD ssd is larger than HDD hdd" "... warns"

# ---- not devices ----
images
mkdir dir
refused "hdd meta" "No such file" "missing SSD" nosuch hdd meta
refused "ssd hdd" "neither a block device nor a regular file" "directory" ssd hdd dir
refused "ssd hdd" "neither a block device nor a regular file" "character device" ssd hdd /dev/null

# ---- read-only ----
images
chmod 0444 meta
refused "ssd hdd meta" "METADATA meta is read-only" "read-only METADATA" ssd hdd meta
chmod 0644 meta
chmod 0444 hdd
refused "ssd hdd meta" "HDD hdd is read-only" "read-only HDD" ssd hdd meta
refused "ssd hdd meta" "HDD hdd is read-only" "read-only HDD, dry run" --dry-run ssd hdd meta
chmod 0644 hdd

# ---- signatures ----
signature()	# MESSAGE DESCRIPTION
{
	refused "ssd hdd meta" "$1" "$2" ssd hdd meta
	refused "ssd hdd meta" "$1" "$2, dry run" --dry-run ssd hdd meta
}

if command -v mkfs.ext4 >/dev/null; then
	images 20M 64M 16M
	mkfs.ext4 -q -L precious ssd
	signature "SSD ssd holds: ext4 file system \(label precious\); --force" "ext4 on SSD"
	images 20M 64M 16M
	mkfs.ext4 -q meta
	signature "METADATA meta holds: ext4 file system; --force" "ext4 on METADATA"
fi
if command -v mkfs.xfs >/dev/null; then
	images 300M 512M 16M
	mkfs.xfs -q -f ssd
	signature "SSD ssd holds: xfs file system" "XFS on SSD"
fi
images 20M 64M 16M
mkswap -q meta 2>/dev/null || mkswap meta >/dev/null
signature "METADATA meta holds: swap" "swap space on METADATA"

# an MBR with one partition from sector 2048
mbr()		# FILE
{
	printf '\0\0\0\0\x83\0\0\0\x00\x08\0\0\x00\x10\0\0' | dd of="$1" bs=1 seek=446 conv=notrunc status=none
	printf '\x55\xaa' | dd of="$1" bs=1 seek=510 conv=notrunc status=none
}
images 20M 64M 16M
mbr ssd
signature "SSD ssd holds: dos partition table" "partition table on SSD"

# an LVM physical volume, a RAID member and a LUKS header, as far as libblkid looks
images 20M 64M 16M
if command -v pvcreate >/dev/null; then
	# the label: LABELONE, sector 1, checksum, offset, type, then the UUID
	python3 - ssd <<'PY'
import sys
def crc(buf):
	tab = [0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
	       0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c]
	c = 0xf597a6cf
	for b in buf:
		c ^= b
		c = (c >> 4) ^ tab[c & 15]
		c = (c >> 4) ^ tab[c & 15]
	return c
rest = (32).to_bytes(4, 'little') + b'LVM2 001' + b'a' * 32
rest += bytes(512 - 20 - len(rest))
sector = b'LABELONE' + (1).to_bytes(8, 'little') + crc(rest).to_bytes(4, 'little') + rest
with open(sys.argv[1], 'r+b') as f:
	f.seek(512)
	f.write(sector)
PY
	signature "SSD ssd holds: LVM2_member RAID or volume manager member" "LVM on SSD"
else
	skip "no lvm2"
fi
images 20M 64M 16M
printf 'LUKS\xba\xbe\0\1' | dd of=meta conv=notrunc status=none
signature "METADATA meta holds: crypto_LUKS encrypted volume" "LUKS on METADATA"

# ---- other tier devices ----
images
"$DMTIER" format ssd hdd meta >/dev/null
uuid=$("$DMTIER" check --json meta | jq -r .uuid)
image ssd2 20M
image meta2 4M
signature "METADATA meta holds the metadata of tier device $uuid; --force" "the same tier device again"
refused "ssd2 hdd meta" "METADATA meta holds the metadata of tier device $uuid" "its METADATA for another" ssd2 hdd meta
refused "ssd hdd meta2" "SSD ssd holds the data of tier device $uuid" "its SSD for another" ssd hdd meta2
refused "meta hdd ssd2" "SSD meta holds the metadata of tier device $uuid" "METADATA and SSD swapped" meta hdd ssd2
refused "ssd2 ssd meta2" "HDD ssd holds the data of tier device $uuid: .*leaves it alone.*will overwrite it; --force takes it" \
	"its SSD as HDD" ssd2 ssd meta2
before=$(sums ssd)
dmtier_is 0 "... --force" format --force ssd2 ssd meta2
like "$ERR" "warning: HDD ssd holds the data of tier device $uuid: format leaves it alone" "... warns"
is "$(sums ssd)" "$before" "... and leaves it alone"
image ssd2 20M
image meta2 4M
meta_edit meta slot 3 17 f 3
meta_edit meta slot 4 18 f f
signature "with 24 KiB of data not written back; --force" "dirty data are pointed out"
flip meta 100
zero_block meta 65536
signature "METADATA meta holds damaged tier metadata" "damaged metadata"
images
"$DMTIER" format ssd hdd meta >/dev/null
meta_edit meta sb version 2
signature "METADATA meta holds tier metadata of a newer version" "newer metadata"
flip ssd 100
zero_block meta 0
zero_block meta 65536
signature "SSD ssd holds the header of a tier device" "damaged device header"

# ---- block devices ----
if ! can_loop; then
	skip "needs root and loop devices"
	done_testing
	exit
fi
# attached read-write loop devices for the three images
devices()
{
	images "$@"
	attach ssd && SSD=$LOOP && attach hdd && HDD=$LOOP && attach meta && META=$LOOP
}
devices 20M 64M 16M
refused "ssd hdd meta" "SSD ssd is in use: attached to $SSD" "file behind a loop device" ssd "$HDD" "$META"
dmtier_is 0 "format block devices" format "$SSD" "$HDD" "$META"
dmtier_is 0 "... check clean" check "$SSD" "$HDD" "$META"
dmtier_is 0 "... the images too" check --force ssd hdd meta
ln -s "$SSD" devlink
refused "ssd hdd" "are the same device or overlap" "the same block device by a link" --force "$SSD" "$HDD" devlink

if command -v mkfs.ext4 >/dev/null && mkdir mnt; then
	devices 20M 64M 16M
	mkfs.ext4 -q "$META"
	if mount "$META" mnt 2>/dev/null; then
		refused "ssd hdd" "METADATA $META is in use: mounted on .*mnt" "mounted METADATA, even by force" \
			--force "$SSD" "$HDD" "$META"
		touch mnt/file
		ok $? "... it is still alive"
		umount mnt
	else
		skip "cannot mount"
	fi
fi

devices 20M 64M 16M
mkswap "$META" >/dev/null 2>&1
if swapon "$META" 2>/dev/null; then
	refused "ssd hdd" "METADATA $META is in use: swap space" "swap in use, even by force" --force "$SSD" "$HDD" "$META"
	swapoff "$META"
else
	skip "cannot swap"
fi

devices 20M 64M 16M
hold "$META"
refused "ssd hdd meta" "$META is in use" "device that somebody has opened for himself" --force "$SSD" "$HDD" "$META"
dmtier_is 8 "... dry run" format --dry-run "$SSD" "$HDD" "$META"
let_go

images 20M 64M 16M
attach ssd && SSD=$LOOP
attach hdd && HDD=$LOOP
attach meta -r && META=$LOOP
refused "ssd hdd meta" "METADATA $META is read-only" "read-only block device" "$SSD" "$HDD" "$META"
refused "ssd hdd meta" "HDD $META is read-only" "read-only block device as HDD" "$SSD" "$META" "$HDD"

# logical block sizes
images 20M 64M 16M
attach hdd && HDD=$LOOP
attach meta && META=$LOOP
if attach ssd -b 4096 2>/dev/null; then
	dmtier_is 0 "logical blocks of 4096 bytes" format "$LOOP" "$HDD" "$META"
	dmtier_is 0 "... check clean" check "$LOOP" "$HDD" "$META"
	detach "$LOOP"
fi
if attach ssd -b 8192 2>/dev/null && [ "$(blockdev --getss "$LOOP")" = 8192 ]; then
	refused "ssd hdd meta" "logical block size of 8192 bytes" "logical blocks of 8192 bytes" --force \
		"$LOOP" "$HDD" "$META"
else
	skip "no logical blocks of 8192 bytes here"
fi

# partitions: of the same disk, and of disjoint parts
images 20M 64M 16M
image disk 300M
attach disk -P && DISK=$LOOP
attach meta && META=$LOOP
node()		# PARTITION NUMBER: make the node if nobody else does
{
	local sys=/sys/class/block/${DISK##*/}p$1/dev

	[ -e "$sys" ] || return
	[ -b "${DISK}p$1" ] || mknod "${DISK}p$1" b "$(cut -d: -f1 "$sys")" "$(cut -d: -f2 "$sys")"
}
if addpart "$DISK" 1 2048 131072 2>/dev/null && addpart "$DISK" 2 133120 262144 2>/dev/null && node 1 && node 2; then
	refused "disk meta" "are the same device or overlap" "disk and its partition" --force "${DISK}p1" "$DISK" "$META"
	refused "disk meta" "are the same device or overlap" "partition and its disk" --force "$DISK" "${DISK}p1" "$META"
	dmtier_is 0 "two partitions of a disk" format "${DISK}p1" "${DISK}p2" "$META"
	dmtier_is 0 "... check clean" check "${DISK}p1" "${DISK}p2" "$META"
	mkfs.ext4 -q -F "${DISK}p2"
	if mount "${DISK}p2" mnt 2>/dev/null; then
		refused "meta" "is in use: its partition .*p2 is mounted" \
			"disk with a mounted partition" --force "$DISK" "$META" ssd
		umount mnt
	else
		skip "cannot mount"
	fi
	delpart "$DISK" 1
	delpart "$DISK" 2
else
	skip "cannot make partitions"
fi

done_testing
