#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The guest's side of `make demo`, see demo.sh.  /dev/hdd is slow, /dev/ssd is fast, /dev/meta is for
# the metadata; all three are empty, and all that is done to them is gone with the machine.
set -euo pipefail

STEPS=6
DATA_MIB=192		# size of the file that is worked on
PROBE_S=2		# seconds of each measurement: the devices alone,
RUN_S=12		# the workload,
WARM_S=20		# and the same in between, for the cache to get warm
ENOUGH=3		# the warm device must be so many times faster than the hard disk
NAME=demo
MNT=/run/demo
DMTIER=$TIER_TOP/userspace/dmtier

# shellcheck disable=SC2034	# lib.sh is to define things, not to begin a case
LIB_ONLY=1
# shellcheck source=../vm/lib.sh
. "$TIER_TOP/tests/vm/lib.sh"

step=0
next_step()
{
	step=$((step + 1))
	printf '\n%d/%d  %s\n' $step $STEPS "$1"
}

say() { printf '     %s\n' "$@"; }

# run COMMAND [ARG...]		show a command as one would type it, and its output
run()
{
	say "# ${*//"$TIER_TOP/userspace/"/}"
	"$@" 2>&1 | sed 's/^/     /'
}

give_up()
{
	say "FAILED: $1"
	exit 1
}

on_exit()
{
	local rc=$?

	[ $rc = 0 ] && return
	printf '\nThe demo failed at step %d of %d.\n' "$step" $STEPS
	dmesg --notime | grep -i 'tier' | tail -n 5 || true
	exit 1
}
trap on_exit EXIT

# --- Measuring --------------------------------------------------------------------------------

# probe DEVICE		random 4 KiB reads a second of a bare device
probe()
{
	fio --thread --eta=never --name=probe --filename="$1" --readonly --rw=randread --bs=4k --direct=1 --ioengine=libaio \
		--iodepth=8 --time_based --runtime=$PROBE_S --output-format=json |
		jq -r '.jobs[0].read.iops | round'
}

# workload SECONDS FILE		the same for all; the figures go to FILE
workload()
{
	fio --thread --eta=never --name=work --filename=$MNT/data --rw=randrw --rwmixread=90 --bs=4k \
		--random_distribution=zipf:1.2 --direct=1 --ioengine=libaio --iodepth=8 --time_based --runtime="$1" \
		--randrepeat=0 --output-format=json --output="$2"
}

# Of reads and writes together.  A p99 of a mix can't be had from the two, so each has its own.
# figure FILE iops|mean|read_p99|write_p99
figure()
{
	jq -r --arg what "$2" '.jobs[0] as $j |
		def ms: . / 1e6;
		if $what == "iops" then $j.read.iops + $j.write.iops
		elif $what == "mean" then
			($j.read.lat_ns.mean * $j.read.total_ios + $j.write.lat_ns.mean * $j.write.total_ios) /
			($j.read.total_ios + $j.write.total_ios) | ms
		elif $what == "read_p99" then $j.read.clat_ns.percentile["99.000000"] | ms
		else $j.write.clat_ns.percentile["99.000000"] | ms end' "$1"
}

# hits			percent of requests served from the SSD since the last stats reset
hits()
{
	"$DMTIER" status --json $NAME | jq -r '.devices[0].counters |
		(.read_hits + .write_hits) as $h | ($h + .read_misses + .write_misses) as $all |
		if $all == 0 then 0 else $h * 100 / $all end'
}

# measure NAME SECONDS	run the workload on the tier device; sets HITS
measure()
{
	dmsetup message $NAME 0 stats reset
	workload "$2" "/run/$1.json"
	HITS=$(hits)
}

# row TITLE FILE [HITS]
row()
{
	local iops base

	iops=$(figure "$2" iops)
	base=$(figure /run/hdd.json iops)
	awk -v t="$1" -v i="$iops" -v m="$(figure "$2" mean)" -v r="$(figure "$2" read_p99)" \
		-v w="$(figure "$2" write_p99)" -v h="${3:-}" -v b="$base" 'BEGIN {
		printf "     %-22s %8.0f %9.1f ms %9.1f ms %9.1f ms %9s %8.1fx\n",
			t, i, m, r, w, h == "" ? "-" : sprintf("%.0f %%", h), i / b }'
}

# --- The demo ---------------------------------------------------------------------------------

mount_it() { mkdir -p $MNT && mount -t ext4 -o noatime "$1" $MNT; }

next_step "A machine with a hard disk, an SSD, and the dm-tier modules"
# shellcheck disable=SC2119
load_modules
say "kernel $(uname -r), virtual: one processor, emulated"
hdd_iops=$(probe /dev/hdd)
ssd_iops=$(probe /dev/ssd)
ssd_mib=$(($(blockdev --getsize64 /dev/ssd) >> 20))
say "/dev/hdd  hard disk $(($(blockdev --getsize64 /dev/hdd) >> 20)) MiB: $hdd_iops random 4 KiB reads a second"
say "/dev/ssd  SSD       $ssd_mib MiB: $ssd_iops random 4 KiB reads a second"

next_step "Make a tier device of them, an ext4 file system on it, and a file of $DATA_MIB MiB"
run "$DMTIER" format /dev/ssd /dev/hdd /dev/meta
run "$DMTIER" create $NAME /dev/ssd /dev/hdd /dev/meta
run mkfs.ext4 -q -T largefile -E lazy_itable_init=0,lazy_journal_init=0 /dev/mapper/$NAME
mount_it /dev/mapper/$NAME
fio --thread --eta=never --name=layout --filename=$MNT/data --rw=write --bs=1M --size=${DATA_MIB}M --direct=1 --ioengine=libaio \
	--iodepth=4 --end_fsync=1 --output=/run/layout.txt
umount $MNT

next_step "The hard disk alone: write everything back, stop the tier device, measure"
run "$DMTIER" remove --flush $NAME
say "Nothing is dirty now, so the file system is all on the hard disk and can be used without the SSD." \
	"Workload: 4 KiB requests, 8 at a time, 90 % reads and 10 % writes, some places in the file much" \
	"hotter than others (zipf 1.2), past the page cache; $RUN_S s of it. The file ($DATA_MIB MiB) fits the SSD" \
	"($ssd_mib MiB) whole: once it is warm, nearly every request finds its data there. That is the best case;" \
	"with more data in use than the SSD holds, less comes from it and the gain is smaller."
mount_it /dev/hdd
workload $RUN_S /run/hdd.json
umount $MNT

next_step "The SSD in front again, empty: formatting it anew leaves the hard disk as it is"
run "$DMTIER" format --force /dev/ssd /dev/hdd /dev/meta
run "$DMTIER" create $NAME /dev/ssd /dev/hdd /dev/meta
mount_it /dev/mapper/$NAME
say "The same workload on the same file, $RUN_S s with nothing on the SSD at first,"
measure cold $RUN_S
cold_hits=$HITS
say "$WARM_S s of it for the SSD to get warm,"
measure between $WARM_S
say "and again $RUN_S s, warm"
measure warm $RUN_S
warm_hits=$HITS

next_step "What came out of it (p99: 99 of 100 requests were faster than that)"
printf '     %-22s %8s %12s %12s %12s %9s %9s\n' "" IOPS "mean" "p99 read" "p99 write" "from SSD" "faster"
row "hard disk alone" /run/hdd.json
row "with dm-tier, cold" /run/cold.json "$cold_hits"
row "with dm-tier, warm" /run/warm.json "$warm_hits"
echo
run "$DMTIER" status $NAME

next_step "Write everything back, stop, and check what is left"
sum_there=$(md5sum <$MNT/data)
umount $MNT
run "$DMTIER" remove --flush $NAME
run "$DMTIER" check /dev/ssd /dev/hdd /dev/meta
run e2fsck -fn /dev/hdd
mount -t ext4 -o ro /dev/hdd $MNT
sum_alone=$(md5sum <$MNT/data)
umount $MNT
[ "$sum_there" = "$sum_alone" ] || give_up "the file differs on the hard disk alone"
say "The file is the same on the hard disk alone, byte for byte."
unload_modules || give_up "the modules can't be unloaded"

times=$(awk -v w="$(figure /run/warm.json iops)" -v h="$(figure /run/hdd.json iops)" 'BEGIN { printf "%.1f", w / h }')
echo
awk -v t="$times" -v e=$ENOUGH 'BEGIN { exit !(t >= e) }' ||
	give_up "the warm device is only $times times as fast as the hard disk, $ENOUGH times were expected"
say "Warm, the tier device was $times times as fast as the hard disk alone; all of the file fitted the SSD."
