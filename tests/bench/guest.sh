#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The guest's side of tests/bench/run, which says what the workloads and stacks are: guest.sh WORKLOAD.  Each
# measurement is a line of JSON in /out/runs.json.  From the environment: BENCH_REPS, BENCH_STACKS, BENCH_WARM,
# BENCH_RUN, BENCH_COLD.
set -euo pipefail

# shellcheck disable=SC2034	# lib.sh is to define things, not to begin a case
LIB_ONLY=1
# shellcheck source=../vm/lib.sh
. "$TIER_TOP/tests/vm/lib.sh"

DMTIER=$TIER_TOP/userspace/dmtier
WORKLOAD=$1
SSD=/dev/ssd HDD=/dev/hdd META=/dev/meta
SSD_MIB=$(($(blockdev --getsz $SSD) / 2048))
HDD_MIB=$(($(blockdev --getsz $HDD) / 2048))
HOT=$((SSD_MIB / 4))		# MiB that every stack can have on the SSD whole
CLEAN_LIMIT=300			# seconds to wait for dirty data to be written back
declare -A MODES=([wb]=writeback [wt]=writethrough [wa]=writearound [pt]=passthrough)

# --- Stacks -----------------------------------------------------------------------------------

# parse STACK		sets KIND, KIB, MODE
parse()
{
	local kinds='hdd|ssd|linear|tier|cache|bcache|writecache|writeboost'

	[[ $1 =~ ^($kinds)([0-9]*)(-(wb|wt|wa|pt))?$ ]] || { echo "bench: unknown stack $1"; return 1; }
	KIND=${BASH_REMATCH[1]} KIB=${BASH_REMATCH[2]} MODE=${MODES[${BASH_REMATCH[4]:-wb}]}
}

# fresh			the stack is made anew on the devices
fresh()
{
	local d

	for d in "$SSD" "$HDD" "$META"; do
		dd if=/dev/zero of="$d" bs=1M count=1 oflag=direct status=none
	done
	case $KIND in
	tier) "$DMTIER" format --force ${KIB:+--block-size "${KIB}k"} "$SSD" "$HDD" "$META" ;;
	bcache) make-bcache --wipe-bcache --bucket 128k -C "$SSD" -B "$HDD" ;;
	esac >/run/fresh 2>&1 || { cat /run/fresh; return 1; }
}

cache_table()	# POLICY
{
	echo "cache $META $SSD $HDD $((${KIB:-64} * 2)) 1 $MODE $1 0"
}

bcache_is()	# STATE-REGEX
{
	grep -qxE "$1" /sys/block/bcache0/bcache/state
}

# up			the stack is started; sets DEV
up()
{
	local length table=

	length=$(blockdev --getsz "$HDD")
	DEV=/dev/mapper/bench
	case $KIND in
	hdd) DEV=$HDD ;;
	ssd) DEV=$SSD ;;
	linear) length=$(blockdev --getsz "$SSD") table="linear $SSD 0" ;;
	tier) "$DMTIER" create --mode "$MODE" bench "$SSD" "$HDD" "$META" ;;
	cache) table=$(cache_table smq) ;;
	bcache)
		DEV=/dev/bcache0
		modprobe bcache
		echo "$SSD" >/sys/fs/bcache/register
		echo "$HDD" >/sys/fs/bcache/register
		wait_until 30 bcache_is 'clean|dirty'
		echo "$MODE" >/sys/block/bcache0/bcache/cache_mode ;;
	writecache) table="writecache s $HDD $SSD 4096 0" ;;
	writeboost)
		lib_insmod "$TIER_BUILD/writeboost/dm-writeboost.ko"
		table="writeboost $HDD $SSD 4 writeback_threshold 70 read_cache_threshold 127" ;;
	esac
	[ -z "$table" ] || dmsetup create bench --table "0 $length $table"
}

bcache_gone()
{
	! compgen -G '/sys/block/bcache*' && ! compgen -G '/sys/fs/bcache/*-*-*'
}

# down			the stack is stopped, with the dirty data that it has
down()
{
	local f

	for f in /sys/block/bcache*/bcache/stop /sys/fs/bcache/*-*-*/stop; do
		if [ -e "$f" ]; then { echo 1 >"$f"; } 2>/dev/null || true; fi	# the second may go with the first
	done
	wait_until 60 bcache_gone || return
	[ ! -b /dev/mapper/bench ] || dmsetup remove --retry bench
}

renew()
{
	down
	fresh
	up
}

# dirty			MiB that the slow device does not have yet
dirty()
{
	case $KIND in
	tier) dmsetup status --noflush bench | awk '{ print $13 * $9 / 2048 }' ;;
	cache) dmsetup status --noflush bench | awk '{ print $14 * $6 / 2048 }' ;;
	writecache) dmsetup status --noflush bench | awk '{ print ($5 - $6) / 256 }' ;;
	writeboost) dmsetup status --noflush bench | awk '{ print $10 / 256 }' ;;
	bcache) awk '{ at = index("kMG", substr($1, length($1))); print $1 * 1024 ^ (at ? at - 2 : -2) }' \
		/sys/block/bcache0/bcache/dirty_data ;;
	esac
}

not_dirty() { [ "$(dirty)" = 0 ]; }

# hold			nothing is written back for idleness, so that what is dirty can be counted
hold()
{
	[ "$KIND" != tier ] || dmsetup message bench 0 set idle_ms 3600000
}

# clean			writes back all dirty data, and waits
clean()
{
	case $KIND in
	tier)
		dmsetup message bench 0 flush
		wait_until $CLEAN_LIMIT not_dirty ;;
	cache)
		dmsetup suspend bench
		dmsetup load bench --table "0 $(blockdev --getsz "$HDD") $(cache_table cleaner)"
		dmsetup resume bench
		wait_until $CLEAN_LIMIT not_dirty ;;
	bcache)
		echo 1 >/sys/block/bcache0/bcache/detach
		wait_until $CLEAN_LIMIT bcache_is 'no cache' ;;
	writecache) dmsetup message bench 0 flush ;;
	writeboost)
		dmsetup suspend bench	# what it has in memory
		dmsetup resume bench
		dmsetup message bench 0 drop_caches ;;
	esac
}

# --- Measuring --------------------------------------------------------------------------------

stat_of() { echo "/sys/dev/block/$(stat -Lc %Hr:%Lr "$1")/stat"; }

# counts		what the processors and the devices have done so far, as JSON
counts()
{
	{
		awk '/^cpu / { print "cpu", $2 + $3 + $4 + $7 + $8 + $9 }' /proc/stat
		awk '{ print "ssd_written", $7 }' "$(stat_of "$SSD")"
		awk '{ print "hdd_ios", $1 + $5; print "hdd_written", $7 }' "$(stat_of "$HDD")"
		case $KIND in
		tier | cache) awk '{ print "meta_writes", $5 }' "$(stat_of "$META")" ;;
		esac
		[ "$KIND" != tier ] || dmsetup status --noflush bench | grep -o ' commits [0-9]*' | cut -c 2-
	} | jq -Rnc '[inputs | split(" ") | { key: .[0], value: (.[1] | tonumber) }] | from_entries'
}

# record CASE		the figures on stdin, a JSON object; what is null could not be measured
record()
{
	jq -c --arg workload "$WORKLOAD" --arg case "$1" --arg stack "$STACK" --argjson rep "$REP" \
		'{ workload: $workload, case: $case, stack: $stack, rep: $rep,
			figures: with_entries(select(.value != null)) }' >>/out/runs.json
}

# run_fio LIMIT OPTION...	the options of all jobs, then each job's --name and options; leaves /run/fio.json
run_fio()
{
	timeout $(($1 + 120)) fio --thread --eta=never --filename="$DEV" --direct=1 --ioengine=libaio --randrepeat=0 \
		--group_reporting --runtime="$1" --output-format=json --output=/run/fio.json "${@:2}"
}

load() { run_fio "$1" --time_based "${@:2}"; }	# SECONDS OPTION...

# measure CASE SECONDS OPTION...	the same, and its figures are recorded and left in /run/figures.json
measure()
{
	local before after

	before=$(counts)
	load "${@:2}"
	after=$(counts)
	jq --argjson b "$before" --argjson a "$after" '
		def ms: if . then . / 1e6 else null end;
		def p99: .clat_ns.percentile["99.000000"]? | ms;
		($a | with_entries({ key, value: (.value - $b[.key]) })) as $d | .jobs[0] as $j |
		([.jobs[] | .read.total_ios + .write.total_ios] | add) as $n |
		([.jobs[] | .read.io_bytes + .write.io_bytes] | add) as $bytes | if $n == 0 then error("no I/O") else
		{ iops: ($j.read.iops + $j.write.iops), mib_s: (($j.read.bw_bytes + $j.write.bw_bytes) / 1048576),
		  read_p99_ms: ($j.read | p99), write_p99_ms: ($j.write | p99),
		  write_max_ms: (if $j.write.total_ios > 0 then $j.write.clat_ns.max | ms else null end),
		  scan_mib_s: (if .jobs[1] then .jobs[1].read.bw_bytes / 1048576 else null end),
		  hdd_per_1000: ($d.hdd_ios * 1000 / $n),
		  ssd_written: ($d.ssd_written * 512 / $bytes),
		  meta_per_1000: (if $d.meta_writes then $d.meta_writes * 1000 / $n else null end),
		  commits_per_1000: (if $d.commits then $d.commits * 1000 / $n else null end),
		  cpu_us: ($d.cpu * 10000 / $n) } end' /run/fio.json >/run/figures.json
	record "$1" </run/figures.json
}

# sample		for ever, every second: the time and the requests that DEV has completed
sample()
{
	local stat now

	stat=$(stat_of "$DEV")
	while read -r now _ </proc/uptime; do
		awk -v now="$now" '{ print now, $1 + $5 }' "$stat"
		sleep 1
	done
}

# sampled COMMAND...	leaves in /run/rates, for each second of BENCH_*: its end after the first I/O, requests in a second
sampled()
{
	local pid

	sample >/run/samples &
	pid=$!
	"$@"
	kill -9 $pid	# the guest ignores SIGTERM
	wait $pid 2>/dev/null || true
	awk 'NR > 1 && (begun || $2 > last) { if (!begun) begun = time; print $1 - begun, ($2 - last) / ($1 - time) }
		{ time = $1; last = $2 }' /run/samples >/run/rates
}

# timed COMMAND...	sets TOOK, in seconds
timed()
{
	local begin=$EPOCHREALTIME

	"$@"
	TOOK=$(awk -v begin="$begin" -v end="$EPOCHREALTIME" 'BEGIN { print end - begin }')
}

# --- Workloads: each finds the stack fresh and started ----------------------------------------

zipf=(--rw=randrw --rwmixread=90 --bs=4k --random_distribution=zipf:1.2 --iodepth=8 --numjobs=4)

# warm			the hot region to the SSD: each place once, and then at random
warm()
{
	run_fio "$BENCH_WARM" --rw=randread --bs=64k --iodepth=16 --size="${HOT}M" --name=once
	load "$BENCH_WARM" --rw=randrw --bs=64k --iodepth=16 --size="${HOT}M" --name=warm
}

zipf_over()	# MIB
{
	load "$BENCH_WARM" "${zipf[@]}" --size="$1M" --name=warm
	measure warm "$BENCH_RUN" "${zipf[@]}" --size="$1M" --name=work
}

work_A() { zipf_over $((SSD_MIB * 3 / 4)); }
work_A5() { zipf_over $((SSD_MIB * 5)); }

work_D()
{
	sampled load "$BENCH_COLD" "${zipf[@]}" --size=$((SSD_MIB * 3 / 4))M --name=work
	# the first of three seconds that have 80 % of what the last quarter has
	awk -v all="$BENCH_COLD" '
		$1 <= all { time[++n] = $1; rate[n] = $2 }
		END {
			for (i = n; i > n * 3 / 4; i--) { final += rate[i]; count++ }
			final /= count
			for (i = 1; i < n - 2 && rate[i] + rate[i + 1] + rate[i + 2] < 2.4 * final; i++)
				;
			printf "{ \"to_80_s\": %.1f, \"final_iops\": %.1f }\n", time[i], final
		}' /run/rates | record cold
}

work_E()
{
	local hot=(--name=hot --rw=randread --bs=4k --iodepth=8 --size="${HOT}M") alone
	local scan=(--name=scan --new_group --rw=read --bs=1M --iodepth=2 --offset="${SSD_MIB}M" \
		--size=$((HDD_MIB - SSD_MIB - 1))M)

	warm
	load "$BENCH_WARM" "${hot[@]}"
	measure "hot alone" "$BENCH_RUN" "${hot[@]}"
	alone=$(jq .iops /run/figures.json)
	measure "hot and scan" "$BENCH_RUN" "${hot[@]}" "${scan[@]}"
	jq --argjson alone "$alone" '{ kept_percent: (.iops * 100 / $alone) }' /run/figures.json | record "what hot keeps"
	measure "hot afterwards" "$BENCH_RUN" "${hot[@]}"
	measure "scan alone" "$BENCH_RUN" "${scan[@]}"
}

work_F()
{
	local over=$((SSD_MIB * 4))

	load "$BENCH_WARM" --rw=randwrite --bs=256k --iodepth=16 --size=${over}M --name=full
	sampled measure burst "$BENCH_RUN" --rw=randwrite --bs=4k --iodepth=32 --size=${over}M --name=burst
	awk -v all="$BENCH_RUN" '
		$1 <= all - 1 && (!n++ || $2 < least) { least = $2 }
		END { printf "{ \"least_iops\": %.1f }\n", least }' /run/rates | record "slowest second"
}

work_H()
{
	local rw

	warm
	for rw in randread randwrite; do
		load "$BENCH_WARM" --rw=$rw --bs=4k --iodepth=32 --size="${HOT}M" --name=warm
		measure $rw "$BENCH_RUN" --rw=$rw --bs=4k --iodepth=32 --numjobs="$(nproc)" --size="${HOT}M" --name=work
	done
}

# The crash: writes to the devices are acknowledged, but forgotten, while the stack is stopped.
work_J()
{
	local d before after counts_before

	down
	for d in ssd hdd meta; do
		wrap_dev $d /dev/$d
	done
	SSD=/dev/mapper/ssd HDD=/dev/mapper/hdd META=/dev/mapper/meta
	renew
	hold
	load "$BENCH_WARM" --rw=randread --bs=64k --iodepth=16 --size=$((SSD_MIB * 3 / 4))M --name=warm
	load "$BENCH_RUN" --rw=randwrite --bs=4k --iodepth=32 --size=$((SSD_MIB * 3 / 4))M --end_fsync=1 --name=dirty
	before=$(dirty)
	for d in meta ssd hdd; do
		dev_drop_writes $d
	done
	down
	for d in meta ssd hdd; do
		dev_ok $d
	done
	timed first_read
	counts_before=$(counts)
	after=$(dirty)
	clean
	jq -n --argjson took "$TOOK" --argjson before "$before" --argjson after "$after" --argjson b "$counts_before" \
		--argjson a "$(counts)" '{ usable_s: $took, dirty_before_mib: $before, dirty_after_mib: $after,
			hdd_written_mib: (($a.hdd_written - $b.hdd_written) / 2048) }' | record crash
}

first_read()
{
	up
	dd if="$DEV" of=/dev/null bs=4k count=1 iflag=direct status=none
}

work_K()
{
	local mib before reads=(--rw=randread --bs=64k --iodepth=16 --size="${HOT}M" --name=warm)
	local pages=(--bs=4k --size="${HOT}M" --io_size=$((HOT / 2))M --name=dirty)

	if [ "$KIND" = hdd ]; then	# every second page, in address order
		run_fio $CLEAN_LIMIT --rw=write:4k --iodepth=1 "${pages[@]}"
		jq '{ clean_mib_s: (.jobs[0].write.bw_bytes / 1048576) }' /run/fio.json | record "N dirty"
		return
	fi
	load "$BENCH_WARM" "${reads[@]}"
	timed clean
	jq -n --argjson took "$TOOK" '{ clean_s: $took }' | record "0 dirty"
	renew
	hold
	load "$BENCH_WARM" "${reads[@]}"
	run_fio "$BENCH_RUN" --rw=randwrite --iodepth=32 "${pages[@]}"
	before=$(counts)
	mib=$(dirty)
	timed clean
	jq -n --argjson took "$TOOK" --argjson mib "$mib" --argjson b "$before" --argjson a "$(counts)" \
		'{ clean_mib_s: ($mib / $took), clean_s: $took, dirty_mib: $mib,
			hdd_written_mib: (($a.hdd_written - $b.hdd_written) / 2048) }' | record "N dirty"
}

# fits			whether the workload means anything on the stack
fits()
{
	case $WORKLOAD:$KIND in
	[JK]:*) [ "$MODE" = writeback ] ;;&
	A5:ssd | A5:linear | [EF]:ssd | [EF]:linear) false ;;
	[DJ]:hdd | [DJK]:ssd | [DJK]:linear) false ;;
	esac
}

# ----------------------------------------------------------------------------------------------

one()
{
	trap 'kill -9 $(jobs -p) 2>/dev/null || true' EXIT
	renew
	[ "$REP" != 1 ] || [ "$DEV" != /dev/mapper/bench ] || jq -nc --arg stack "$STACK" \
		--arg table "$(dmsetup table bench)" '{ stack: $stack, table: $table }' >>/out/runs.json
	"work_${WORKLOAD%[12]}"
}

# shellcheck disable=SC2119
load_modules
mkdir -p "$LIB_STATE"
if [[ $WORKLOAD == H* ]]; then
	SSD=$(lib_null_blk ssd $((SSD_MIB * 2048)))
	HDD=$(lib_null_blk hdd $((HDD_MIB * 2048)))
	META=$(lib_null_blk meta "$(blockdev --getsz $META)")
fi
for ((REP = 1; REP <= BENCH_REPS; REP++)); do
	# shellcheck disable=SC2086
	for STACK in $(shuf -e $BENCH_STACKS); do
		parse "$STACK" || continue
		fits || continue
		echo "$WORKLOAD $REP of $BENCH_REPS: $STACK"
		set +e
		(set -e; one)
		rc=$?
		if [ $rc != 0 ]; then
			echo "$WORKLOAD $REP: $STACK failed, see the kernel's last lines:"
			dmesg --notime | tail -n 4
			jq -nc --arg workload "$WORKLOAD" --arg stack "$STACK" --argjson rep "$REP" \
				'{ workload: $workload, stack: $stack, rep: $rep, failed: true }' >>/out/runs.json
		fi
		if ! { down && lib_remove_dm; }; then
			echo "bench: $STACK can't be stopped; the rest of $WORKLOAD is left out"
			exit 1
		fi
		set -e
	done
done
