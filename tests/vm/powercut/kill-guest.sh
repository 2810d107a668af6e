#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# In the guest: kill-guest.sh FS ROUND LAST NR_J NR_S
#
# Starts the tier device as the kill before has left it, looks at what is on it, and, unless this is the LAST
# round, goes on until the machine is killed.  NR_J and NR_S commits of committer.py have been acknowledged.
fs=$1 round=$2 last=$3 nr_j=$4 nr_s=$5
top=$TIER_TOP/tests/vm
# shellcheck disable=SC2034
LIB_ONLY=1
# shellcheck source=../lib.sh
. "$top/lib.sh"
# shellcheck disable=SC2119
load_modules || exit
dmtier=$TIER_TOP/userspace/dmtier
mnt=/run/mnt dev=/dev/mapper/killed
mkdir -p $mnt

# point DESCRIPTION COMMAND...
point()
{
	local desc=$1 out

	shift
	if out=$("$@" 2>&1); then
		echo "ok - $fs, round $round: $desc"
		grep '^# ' <<<"$out"
	else
		echo "not ok - $fs, round $round: $desc"
		head -n 40 <<<"$out" | diag
	fi
}

fsck()
{
	case $fs in
	ext4) e2fsck -fn "$1" ;;
	xfs) xfs_repair -n "$1" ;;
	esac
}

# look WHERE DEVICE	mount (which replays the file system's journal), check, mount again, look for the commits
look()
{
	point "$1: $fs mounts" mount "$2" $mnt
	umount $mnt
	point "$1: $fs is clean" fsck "$2"
	mount "$2" $mnt
	point "$1: every commit is there" "$top/powercut/committer.py" verify $mnt "$nr_j" "$nr_s"
}

if [ "$round" = 0 ]; then
	point "format" "$dmtier" format --force --block-size 64k /dev/ssd /dev/hdd /dev/meta
	point "create" "$dmtier" create killed /dev/ssd /dev/hdd /dev/meta
	point "mkfs" "mkfs.$fs" -q $dev
	mount $dev $mnt
else
	point "dmtier check" "$dmtier" check /dev/ssd /dev/hdd /dev/meta
	begin=$EPOCHREALTIME
	point "start after the kill" "$dmtier" create killed /dev/ssd /dev/hdd /dev/meta
	echo "# started in $(bc <<<"($EPOCHREALTIME - $begin) * 1000 / 1") ms; $(dmsetup status killed | cut -d' ' -f4-14)"
	look "tier device" $dev
fi
if [ "$last" = 1 ]; then
	umount $mnt
	point "remove --flush" "$dmtier" remove --flush killed
	look "hard disk alone" /dev/hdd
	umount $mnt
	exit 0
fi
"$top/powercut/committer.py" run $mnt "$round" &
echo "@READY"
# what else goes on
while :; do
	for what in "set idle_ms 10000" flush "mode writethrough" "mode writeback" "demote 0 200000" "set idle_ms 10"; do
		dmsetup message killed 0 "$what"
		sleep $((RANDOM % 4)).5
	done
done >/dev/null 2>&1
