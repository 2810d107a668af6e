#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The guest's side of tests/bench/run: a line of JSON for each run goes to /out/runs.json.
set -euo pipefail

# shellcheck disable=SC2034	# lib.sh is to define things, not to begin a case
LIB_ONLY=1
# shellcheck source=../vm/lib.sh
. "$TIER_TOP/tests/vm/lib.sh"
DMTIER=$TIER_TOP/userspace/dmtier
LEN=$(blockdev --getsz /dev/hdd)

# up STACK		sets DEV
up()
{
	local mode

	DEV=/dev/mapper/bench
	case $1 in
	*-wb) mode=writeback ;;
	*) mode=writethrough ;;
	esac
	for d in ssd meta; do
		dd if=/dev/zero of=/dev/$d bs=1M count=1 oflag=direct status=none
	done
	case $1 in
	hdd) DEV=/dev/hdd ;;
	tier-*)
		"$DMTIER" format --force /dev/ssd /dev/hdd /dev/meta >/dev/null 2>&1
		"$DMTIER" create --mode $mode bench /dev/ssd /dev/hdd /dev/meta ;;
	cache-*) dmsetup create bench --table "0 $LEN cache /dev/meta /dev/ssd /dev/hdd 128 1 $mode smq 0" ;;
	writecache) dmsetup create bench --table "0 $LEN writecache s /dev/hdd /dev/ssd 4096 0" ;;
	*) echo "bench: unknown stack $1" >&2; return 1 ;;
	esac
}

work()	# SECONDS OUTPUT
{
	fio --thread --eta=never --name=work --filename="$DEV" --size=192M --rw=randrw --rwmixread=90 --bs=4k --direct=1 \
		--random_distribution=zipf:1.2 --ioengine=libaio --iodepth=8 --numjobs=4 --group_reporting --time_based \
		--runtime="$1" --randrepeat=0 --output-format=json --output="$2"
}

# shellcheck disable=SC2119
load_modules
for m in dm-cache dm-cache-smq dm-writecache; do
	modprobe $m
done
: >/out/runs.json
for ((rep = 1; rep <= BENCH_REPS; rep++)); do
	# shellcheck disable=SC2086
	for stack in $(shuf -e $BENCH_STACKS); do
		echo "run $rep of $BENCH_REPS: $stack"
		up "$stack"
		work "$BENCH_WARM" /run/warm.json
		work "$BENCH_RUN" /run/work.json
		jq -c --arg stack "$stack" --argjson rep "$rep" '.jobs[0] | { stack: $stack, rep: $rep,
			iops: (.read.iops + .write.iops), read_p99_ms: (.read.clat_ns.percentile["99.000000"] / 1e6),
			write_p99_ms: (.write.clat_ns.percentile["99.000000"] / 1e6) }' /run/work.json >>/out/runs.json
		[ "$DEV" = /dev/hdd ] || dmsetup remove --retry bench
	done
done
