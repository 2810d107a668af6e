# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=1500
#
# From power cut to usable: the time does not grow beyond that of reading the metadata, whatever the size.
#
# The data do not matter here: fast and slow device forget what is written to them, but for the fast device's
# header.
# shellcheck source=../lib.sh
. "${0%/*}/../lib.sh"
# shellcheck disable=SC2119
load_modules
dmtier=${TIER_BUILD%/build/*}/userspace/dmtier
sizes="16384 65536"
[ -z "$TIER_LONG" ] || sizes="65536 262144 1048576"

ms() { echo $((($(date +%s%N) - $1) / 1000000)); }
# as before the start: the metadata, and the fast device's header
cut_again()
{
	dd if=/dev/mapper/copy of=/dev/mapper/meta bs=1M iflag=direct oflag=direct status=none
	dd if="$WORK/head" of=/dev/mapper/head bs=1M oflag=direct status=none
}
# of three times the shortest one counts: the machine below may have been busy
fastest() { if [ -z "$2" ] || [ "$1" -lt "$2" ]; then echo "$1"; else echo "$2"; fi; }
field() { dmsetup status --noflush t | cut -d' ' -f"$1"; }
# sectors that have been read from a device
sectors_read() { awk '{ print $3 }' "/sys/dev/block/$(stat -L -c %Hr:%Lr "/dev/mapper/$1")/stat"; }

for slots in $sizes; do
	new_dev head 2
	new_dev meta 64
	new_dev copy 64
	dmsetup create fast --table "0 2048 linear /dev/mapper/head 0
2048 $((slots * 8)) zero"
	dmsetup create slow --table "0 $((slots * 16)) zero"
	ok "$slots slots: format" "$dmtier" format --force --block-size 4k /dev/mapper/fast /dev/mapper/slow /dev/mapper/meta
	table="0 $((slots * 16)) tier /dev/mapper/fast /dev/mapper/slow /dev/mapper/meta 8 9 writeback dirty_high 99 dirty_low 98 idle_ms 60000 commit_ms 60000 lru 0"
	dmsetup create t --table "$table"
	# so much that the slots kept free stay so: nothing is written back while we look
	dd if=/dev/zero of=/dev/mapper/t bs=1M count=$((slots * 15 / 4096)) oflag=direct conv=fdatasync status=none
	before=$(field 13)
	# what a power cut now would leave
	dd if=/dev/mapper/meta of=/dev/mapper/copy bs=1M iflag=direct oflag=direct status=none
	dd if=/dev/mapper/head of="$WORK/head" bs=1M iflag=direct status=none
	dmsetup remove t
	cut_again
	like "$("$dmtier" check /dev/mapper/fast /dev/mapper/slow /dev/mapper/meta)" "not clean" "$slots slots: no clean stop"
	size=$(($("$dmtier" check --json /dev/mapper/meta 2>/dev/null | jq .metadata_blocks) * 8))
	usable='' reading=''
	for try in 1 2 3; do
		cut_again
		start=$(date +%s%N)
		# each byte is looked at, as by the kernel's checksums: the processor is slower than the disk
		dd if=/dev/mapper/meta bs=64k count=$((slots * 36 / 65536 + 8)) iflag=direct status=none | md5sum >"$WORK/sum"
		reading=$(fastest "$(ms "$start")" "$reading")
		meta_before=$(sectors_read meta) data_before=$(($(sectors_read fast) + $(sectors_read slow)))
		start=$(date +%s%N)
		dmsetup create t --table "$table"
		dd if=/dev/mapper/t of=/dev/null bs=4k count=1 iflag=direct status=none
		usable=$(fastest "$(ms "$start")" "$usable")
		[ $try -lt 3 ] && dmsetup remove t
	done
	meta_read=$(($(sectors_read meta) - meta_before))
	data_read=$(($(sectors_read fast) + $(sectors_read slow) - data_before))
	is "$(field 13)" "$before" "$slots slots: $before granules are dirty, before and after"
	# all of it once, and the superblock a few times
	[ "$meta_read" -le $((size + 128)) ]
	is $? 0 "$slots slots: $meta_read sectors of metadata are read, of $size"
	# dmsetup and udev look at a device's beginning, and so did dd
	[ "$data_read" -le 1024 ]
	is $? 0 "$slots slots: $data_read sectors of the other devices"
	pass "$slots slots ($(field 10) in use): usable $usable ms after an unclean stop; reading $((slots * 36 / 1048576 + 1)) MiB of metadata takes $reading ms"
	diag "$(dmsetup status --noflush t | cut -d' ' -f1-20)"
	[ -z "${first:-}" ] && first=$slots first_ms=$usable first_reading=$reading
	last=$slots last_ms=$usable last_reading=$reading
	dmsetup remove t
	dmsetup remove fast
	dmsetup remove slow
	drop_devs
done
# what a process more or less takes on an emulated processor is the second
[ $((last_ms - first_ms)) -le $((2 * (last_reading - first_reading) + 1000)) ]
is $? 0 "slots grew by $((last / first)), the time from $first_ms ms to $last_ms ms, that to read the metadata from $first_reading ms to $last_reading ms"
done_testing
