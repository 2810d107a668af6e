# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=900
#
# File systems on a tier device: a real source tree goes in and comes out again, with discards, with mode
# switches meanwhile, and at last from the slow device alone.
# shellcheck source=../io-lib.sh
. "${0%/*}/../io-lib.sh"
load_modules

MNT=$WORK/mnt
TREE=$WORK/tree
mkdir -p "$MNT" "$TREE"
cp -a /usr/include/linux "$TREE"
[ -z "${TIER_LONG:-}" ] || cp -a /usr/include/c++/*/ext /usr/include/c++/*/bits "$TREE" 2>/dev/null
diag "tree: $(find "$TREE" -type f | wc -l) files, $(du -sm "$TREE" | cut -f1) MiB"

fsck_clean()	# TYPE DEVICE
{
	case $1 in
	ext4) e2fsck -fn "$2" ;;
	xfs) xfs_repair -n "$2" ;;
	esac
}
unmount() { umount "$MNT" && echo 3 >/proc/sys/vm/drop_caches; }
copy_in() { cp -a "$TREE/." "$MNT/$1/"; }
unchanged() { diff -r "$TREE" "$MNT/$1"; }

switch_modes()
{
	local m

	for m in writeback writethrough writearound passthrough; do
		msg mode "$m" && sleep 0.3 || return
	done
}

# TYPE MODE POLICY MKFS-COMMAND...
exercise()
{
	local type=$1 mode=$2 policy=$3 what="$1 in $2"

	shift 3
	ok "$what: create" new_tier 24 320 8 64k "$mode" "$policy"
	ok "$what: mkfs" "$@" "$T0"
	ok "$what: mount" mount -o discard "$T0" "$MNT"
	mkdir "$MNT"/{a,b,c}
	ok "$what: copy" copy_in a
	ok "$what: unmount" unmount
	ok "$what: fsck" fsck_clean "$type" "$T0"
	ok "$what: mount" mount -o discard "$T0" "$MNT"
	ok "$what: what was copied" unchanged a

	repeat switch_modes
	ok "$what: copy with mode switches" copy_in b
	ok "$what: remove files meanwhile" rm -r "$MNT/a"
	ok "$what: fstrim meanwhile" fstrim "$MNT"
	sync
	stop_repeating
	is $? 0 "$what: the switches end"
	ok "$what: unmount" unmount
	ok "$what: fsck" fsck_clean "$type" "$T0"
	ok "$what: writeback" set_mode writeback
	ok "$what: mount" mount "$T0" "$MNT"
	ok "$what: what was copied with mode switches" unchanged b
	ok "$what: copy in place of what was removed" copy_in c
	ok "$what: remove files" rm -r "$MNT/b"
	ok "$what: fstrim" fstrim "$MNT"
	ok "$what: unmount" unmount
	ok "$what: flush" flush_all
	ok "$what: remove" dmsetup remove t0
	ok "$what: metadata" check_meta

	ok "$what: fsck of the slow device alone" fsck_clean "$type" "$HDD"
	ok "$what: mount of the slow device" mount -o ro "$HDD" "$MNT"
	ok "$what: its files" unchanged c
	ok "$what: unmount" unmount
}

exercise ext4 writeback clock2q mkfs.ext4 -q
exercise xfs writethrough "seqbypass next hotspot" mkfs.xfs -q -f

done_testing
