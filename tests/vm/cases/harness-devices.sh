# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The test harness itself: devices, and the ways to make them fail.
# vmtap: disk=scratch:size=8M,lbs=4096

# shellcheck source=../lib.sh
. "${0%/*}/../lib.sh"

read_dev() { dd if="/dev/mapper/$1" of=/dev/null bs=4k count=1 skip="${2:-0}" iflag=direct; }
write_dev() { dd if=/dev/urandom of="/dev/mapper/$1" bs=4k count=1 seek="${2:-0}" oflag=direct; }
flush_dev() { sync "/dev/mapper/$1"; }
is_zero() { cmp -n "$(blockdev --getsize64 "$1")" "$1" /dev/zero; }

# With a single one TCG leaves memory barriers out, and requests to emulated disks get lost now and then
isnt "$(cat /sys/devices/system/cpu/possible)" 0 "more than one processor is possible"

# Memory devices
ok "setup_devs" setup_devs 4 16385s 2 3 5
setup_devs_again() { drop_devs && setup_devs 4 16385s 2 3 5; }
ok "setup_devs again" setup_devs_again
setup_devs_again
is "$(blockdev --getsz "$HDD")" 16385 "odd size in sectors"
is "$(blockdev --getsz "$TIER2")" 10240 "second further tier"
ok "a fresh device is zero" is_zero "$SSD"
ok "write" write_dev ssd
nok "it is no longer zero" is_zero "$SSD"
drop_devs
ok "setup_devs after drop_devs" setup_devs 4 4 2
ok "a fresh device is zero again" is_zero "$SSD"
ok "discard" blkdiscard "$SSD"

# Failures
for kind in read write flush; do
	ok "fail $kind" dev_fail ssd $kind
	for op in read write flush; do
		if [ $op = $kind ]; then
			nok "$op fails" ${op}_dev ssd
		else
			ok "$op works" ${op}_dev ssd
		fi
	done
	ok "back to normal" dev_ok ssd
	ok "$kind works" ${kind}_dev ssd
done
ok "fail in a range" dev_bad ssd 16 8 read write
nok "read in the range fails" read_dev ssd 2
nok "write in the range fails" write_dev ssd 2
ok "read before it" read_dev ssd 1
ok "read behind it" read_dev ssd 3
ok "slow" dev_slow ssd 300 0
begin=${EPOCHREALTIME/./}
read_dev ssd 2>/dev/null
ok "takes longer" test $((${EPOCHREALTIME/./} - begin)) -ge 300000
ok "drop writes" dev_drop_writes ssd
before=$(head -c 4096 "$SSD" | md5sum)
ok "a write is acknowledged" write_dev ssd
dev_ok ssd
blockdev --flushbufs "$SSD"
is "$(head -c 4096 "$SSD" | md5sum)" "$before" "and forgotten"

# 4096-byte logical blocks
drop_devs
DEV_LBS=4096 setup_devs 4 4 2
is "$(blockdev --getss "$SSD")" 4096 "4096-byte logical blocks"
dev_fail ssd read
is "$(blockdev --getss "$SSD")" 4096 "also when it fails"
dev_ok ssd

# QEMU's disks
need_disk scratch
is "$(blockdev --getss /dev/scratch)" 4096 "logical block size of a disk of QEMU's"
ok "wrap it" wrap_dev qemu /dev/scratch
ok "write" write_dev qemu
dev_fail qemu write
nok "failing write" write_dev qemu

# What is left open here has to be cleaned up
mkdir -p "$WORK/mnt"
dev_ok qemu
mkfs.ext4 -q -O ^has_journal "$HDD"
ok "mount" mount "$HDD" "$WORK/mnt"
dmsetup suspend meta
sleep 1000 &
done_testing
