#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The guest's side of tests/bench/run, which says what the workloads and stacks are: guest.sh WORKLOAD.
#
#	/out/in/todo	lines of repetition and stack, to be measured in this order
#	/out/runs.json	a line of JSON is added for each of them
#	/out/now	that which is under way
#	/out/in		what the workloads work with
#
# From the environment: BENCH_WARM, BENCH_SECONDS, BENCH_COLD, BENCH_REQUESTS, BENCH_SEED, NR_TRACES; BENCH_LEFT, seconds
# after which nothing new is begun (then the exit status is 77).
set -euo pipefail

# shellcheck disable=SC2034	# lib.sh is to define things, not to begin a case
LIB_ONLY=1
# shellcheck source=../vm/lib.sh
. "$TIER_TOP/tests/vm/lib.sh"
# shellcheck source=plan.sh
. "$TIER_TOP/tests/bench/plan.sh"

DMTIER=$TIER_TOP/userspace/dmtier
WORKLOAD=$1
SSD=/dev/ssd HDD=/dev/hdd META=/dev/meta
SSD_MIB=$(($(blockdev --getsz $SSD) / 2048))
HDD_MIB=$(($(blockdev --getsz $HDD) / 2048))
HOT=$((SSD_MIB / 4))		# MiB that every stack can have on the SSD whole

# --- Stacks -----------------------------------------------------------------------------------

# fresh			the stack is made anew on the devices
fresh()
{
	local d

	for d in "$SSD" "$HDD" "$META"; do
		dd if=/dev/zero of="$d" bs=1M count=1 oflag=direct status=none
	done
	case $KIND in
	tier) "$DMTIER" format --force --block-size "${KIB:-64}k" "$SSD" "$HDD" "$META" ;;
	tiered)
		"$DMTIER" format --force --mode tiered --take-data --block-size "${KIB:-64}k" "$SSD" "$HDD" "$META" ;;
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
	local length table='' features="${FILL:+fill_sectors $((FILL * 2))} ${HOLD:+idle_ms $HOLD}"

	length=$(blockdev --getsz "$HDD")
	DEV=/dev/mapper/bench
	case $KIND in
	hdd) DEV=$HDD ;;
	ssd) DEV=$SSD ;;
	linear) length=$(blockdev --getsz "$SSD") table="linear $SSD 0" ;;
	tier) "$DMTIER" create --mode "$MODE" --feature "$features" bench "$SSD" "$HDD" "$META" ;;
	tiered) "$DMTIER" create bench "$SSD" "$HDD" "$META" ;;
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

# settings		how the stack is set up, as text
settings()
{
	local f=/sys/block/bcache0/bcache

	case $KIND in
	bcache) echo "make-bcache --bucket 128k; $(cat $f/cache_mode), sequential_cutoff $(cat $f/sequential_cutoff)" ;;
	hdd | ssd) ;;
	*) dmsetup table bench ;;
	esac
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
	hdd | tiered) echo 0 ;;
	bcache) awk '{ at = index("kMG", substr($1, length($1))); print $1 * 1024 ^ (at ? at - 2 : -2) }' \
		/sys/block/bcache0/bcache/dirty_data ;;
	esac
}

not_dirty() { [ "$(dirty)" = 0 ]; }

# hold			from now on dm-tier writes nothing back for idleness, so that what is dirty can be counted
hold()
{
	HOLD=3600000
	[ "$KIND" != tier ] || dmsetup message bench 0 set idle_ms $HOLD
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
	hdd | tiered) ;;
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
		awk '{ print "read", $3; print "written", $7 }' "$(stat_of "$DEV")"
		case $KIND in
		tier | tiered | cache) awk '{ print "meta_writes", $5 }' "$(stat_of "$META")" ;;
		esac
		[[ $KIND != tier* ]] || dmsetup status --noflush bench | grep -o ' commits [0-9]*' | cut -c 2-
	} | jq -Rnc '[inputs | split(" ") | { key: .[0], value: (.[1] | tonumber) }] | from_entries'
}

# since COUNTS		the same since then, and what follows of it
since()
{
	jq -c --argjson b "$1" 'with_entries(.value -= $b[.key]) | . +
		{ hdd_written_mib: (.hdd_written / 2048),
		  ssd_per_read: (if .read > 0 then .ssd_written / .read else null end) }' <<<"$(counts)"
}

# record CASE		the figures on stdin, a JSON object; what is null could not be measured
record()
{
	jq -c --arg case "$1" '{ key: $case, value: with_entries(select(.value != null)) }' >>/run/cases
}

# run_fio LIMIT OPTION...	the options of all jobs, then each job's --name and options; leaves /run/fio.json
#
# Each run of a repetition has loads of its own, the same for all stacks.  The center of zipf says what is hot: without
# it each run would have another place for that.
run_fio()
{
	local seed=$((BENCH_SEED + 1000 * REP + ++FIO_RUNS))

	timeout -k 10 $(($1 + 60)) fio --thread --eta=never --direct=1 --ioengine=libaio --randrepeat=0 --randseed=$seed \
		--group_reporting --runtime="$1" --output-format=json --output=/run/fio.json "${@:2}"
}

load() { run_fio "$1" --time_based --filename="$DEV" "${@:2}"; }	# SECONDS OPTION...
once() { run_fio "$1" --filename="$DEV" "${@:2}"; }		# the same, at most so long

# measure CASE SECONDS OPTION...	the same, and its figures are recorded and left in /run/figures.json
measure()
{
	local before after

	before=$(counts)
	load "${@:2}"
	after=$(since "$before")
	jq --argjson d "$after" '
		def ms: if . then . / 1e6 else null end;
		def p99: .clat_ns.percentile["99.000000"]? | ms;
		.jobs[0] as $j | ([.jobs[] | .read.total_ios + .write.total_ios] | add) as $n |
		([.jobs[] | .read.io_bytes + .write.io_bytes] | add) as $bytes | if $n == 0 then error("no I/O") else
		{ iops: ($j.read.iops + $j.write.iops), mib_s: (($j.read.bw_bytes + $j.write.bw_bytes) / 1048576),
		  read_p99_ms: ($j.read | p99), write_p99_ms: ($j.write | p99),
		  write_max_ms: (if $j.write.total_ios > 0 then $j.write.clat_ns.max | ms else null end),
		  scan_mib_s: (if .jobs[1] then .jobs[1].read.bw_bytes / 1048576 else null end),
		  hdd_per_1000: ($d.hdd_ios * 1000 / $n),
		  ssd_written: ($d.ssd_written * 512 / $bytes), ssd_per_read: $d.ssd_per_read,
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

zipf=(--rw=randrw --rwmixread=90 --bs=4k --random_distribution=zipf:1.2:0.5 --iodepth=8 --numjobs=4)

# warm SECONDS		the hot region to the SSD: each place once, and then at random so long
warm()
{
	once "$1" --rw=randread --bs=64k --iodepth=16 --size="${HOT}M" --name=once
	load "$1" --rw=randrw --bs=64k --iodepth=16 --size="${HOT}M" --name=warm
}

zipf_over()	# MIB
{
	load "$BENCH_WARM" "${zipf[@]}" --size="$1M" --name=warm
	measure warm "$BENCH_SECONDS" "${zipf[@]}" --size="$1M" --name=work
}

work_A() { zipf_over $((SSD_MIB * 3 / 4)); }
work_A5() { zipf_over $((SSD_MIB * 5)); }

work_B()
{
	local rw depth bs

	warm "$BENCH_WARM"
	for rw in randread randwrite read write; do
		bs=4k
		[[ $rw == rand* ]] || bs=128k
		for depth in 4 32; do
			measure "$rw, depth $depth" "$POINT" --rw=$rw --bs=$bs --iodepth=$depth --size="${HOT}M" --name=work
		done
	done
}

# Warm: all of it was written before, and a stack that has it dirty need not note anything.
work_C()
{
	local jobs flushes

	for jobs in 1 4; do
		flushes=(--ioengine=psync --fdatasync=1 --rw=randwrite --bs=4k --numjobs="$jobs" --size="${HOT}M" --name=work)
		[ $jobs = 1 ] || renew
		hold
		measure "cold, jobs: $jobs" "$BENCH_SECONDS" "${flushes[@]}"
		load "$BENCH_WARM" --rw=randwrite --bs=64k --iodepth=16 --size="${HOT}M" --name=warm
		once "$BENCH_WARM" --rw=write --bs=64k --iodepth=16 --size="${HOT}M" --end_fsync=1 --name=once
		measure "warm, jobs: $jobs" "$BENCH_SECONDS" "${flushes[@]}"
	done
}

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

	warm "$BENCH_WARM"
	load "$BENCH_WARM" "${hot[@]}"
	measure "hot alone" "$BENCH_SECONDS" "${hot[@]}"
	alone=$(jq .iops /run/figures.json)
	measure "hot and scan" "$BENCH_SECONDS" "${hot[@]}" "${scan[@]}"
	jq --argjson alone "$alone" '{ kept_percent: (.iops * 100 / $alone) }' /run/figures.json | record "what hot keeps"
	measure "hot afterwards" "$BENCH_SECONDS" "${hot[@]}"
	measure "scan alone" "$BENCH_SECONDS" "${scan[@]}"
}

work_F()
{
	local over=$((SSD_MIB * 4))

	load "$BENCH_WARM" --rw=randwrite --bs=256k --iodepth=16 --size=${over}M --name=full
	sampled measure burst "$BENCH_SECONDS" --rw=randwrite --bs=4k --iodepth=32 --size=${over}M --name=burst
	awk -v all="$BENCH_SECONDS" '
		$1 <= all - 1 && (!n++ || $2 < least) { least = $2 }
		END { if (n) printf "{ \"least_iops\": %.1f }\n", least }' /run/rates | record "slowest second"
}

# The SSD has a tenth of the pages that the trace touches, and a MiB for what stacks keep there beside data.
work_G()
{
	local file trace requests touched mib before all=$SSD

	: >/run/settings
	for file in /out/in/traces/*.size; do
		trace=${file%.size}
		read -r requests touched <"$file"
		down
		if [ -b /dev/mapper/part ]; then dmsetup remove --retry part; fi
		mib=$(((touched / 10 + 2047) / 2048 + 1))
		dmsetup create part --table "0 $(((mib < 4 ? 4 : mib) * 2048)) linear $all 0"
		SSD=/dev/mapper/part
		renew
		settings >>/run/settings
		before=$(counts)
		timed run_fio $REPLAY_LIMIT --read_iolog="$trace" --replay_redirect="$DEV" --replay_no_stall=1 --iodepth=8 \
			--name=replay
		jq -e --argjson n "$requests" '.jobs[0] | .read.total_ios + .write.total_ios == $n' /run/fio.json >/dev/null ||
			{ echo "${trace##*/}: not all requests in $REPLAY_LIMIT s"; return 1; }
		since "$before" >/run/during
		clean
		since "$before" | jq --argjson took "$TOOK" --slurpfile during /run/during --argjson n "$requests" '$during[0] +
			{ total_s: $took, requests: $n, hdd_ios_all: .hdd_ios }' | record "${trace##*/}"
	done
}

work_H()
{
	local rw

	warm "$HIT_WARM"
	for rw in randread randwrite; do
		load "$HIT_WARM" --rw=$rw --bs=4k --iodepth=32 --size="${HOT}M" --name=warm
		measure $rw "$BENCH_SECONDS" --rw=$rw --bs=4k --iodepth=32 --numjobs="$(nproc)" --size="${HOT}M" --name=work
	done
}

# program NAME COMMAND...
program()
{
	local before

	before=$(counts)
	timed "${@:2}" >/run/output 2>&1 || { tail -n 5 /run/output; return 1; }
	since "$before" | jq --argjson took "$TOOK" '. + { total_s: $took }' | record "$1"
}

FS=/run/fs

# compile TREE		some of its programs
compile()
{
	make -C "$1/tests/tools" CFLAGS=-O0 all
}

# programs		are read from the host once, before the first stack has its turn
programs()
{
	mkdir /run/tree
	tar -xf /out/in/tree.tar -C /run/tree
	compile /run/tree >/dev/null
	sqlite3 -version >/dev/null
	rm -r /run/tree
}

# remount		so that what was read or written has to be read again
remount()
{
	umount $FS
	mount "$DEV" $FS
}

# transactions N ROWS	of ten inserts each, scattered by their keys; ROWS: those that are there before, in one
transactions()
{
	echo "CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT); CREATE INDEX i ON t (v);"
	echo "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < $2)" \
		"INSERT OR REPLACE INTO t SELECT n * 7919 % 1000003, hex(n * 104729 % 1000003) FROM c;"
	awk -v n="$1" -v seed="$BENCH_SEED" 'BEGIN {
		for (srand(seed); n > 0; n--) {
			print "BEGIN;"
			for (i = 0; i < 10; i++)
				printf "INSERT OR REPLACE INTO t VALUES (%d, hex(%d));\n", rand() * 1e6, rand() * 1e6
			print "COMMIT;"
		}
	}'
}

work_I()
{
	local before took

	mkdir -p $FS
	before=$(counts)
	program mkfs mkfs.ext4 -qF -E lazy_itable_init=0,lazy_journal_init=0 "$DEV"
	mount "$DEV" $FS
	transactions 200 20000 >/run/transactions
	program SQLite sqlite3 -bail $FS/db ".read /run/transactions"
	remount
	program tar bash -c "for i in 1 2 3; do mkdir $FS/\$i && tar -xf /out/in/tree.tar -C $FS/\$i || exit; done; sync"
	remount
	program make compile $FS/2
	program rm bash -c "rm -r $FS/1 $FS/3 && sync"
	umount $FS
	program fsck e2fsck -fp "$DEV"
	took=$(jq -s 'map(.value.total_s) | add' /run/cases)
	since "$before" >/run/during
	clean
	since "$before" | jq --argjson took "$took" --slurpfile during /run/during '$during[0] +
		{ total_s: $took, hdd_ios_all: .hdd_ios }' | record all
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
	load "$BENCH_SECONDS" --rw=randwrite --bs=4k --iodepth=32 --size=$((SSD_MIB * 3 / 4))M --end_fsync=1 --name=dirty
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
		once $CLEAN_LIMIT --rw=write:4k --iodepth=1 "${pages[@]}"
		jq '{ clean_mib_s: (.jobs[0].write.bw_bytes / 1048576) }' /run/fio.json | record "N dirty"
		return
	fi
	load "$BENCH_WARM" "${reads[@]}"
	timed clean
	jq -n --argjson took "$TOOK" '{ clean_s: $took }' | record "0 dirty"
	renew
	hold
	load "$BENCH_WARM" "${reads[@]}"
	once "$BENCH_SECONDS" --rw=randwrite --iodepth=32 "${pages[@]}"
	before=$(counts)
	mib=$(dirty)
	timed clean
	jq -n --argjson took "$TOOK" --argjson mib "$mib" --argjson b "$before" --argjson a "$(counts)" \
		'{ clean_mib_s: (if $mib > 0 then $mib / $took else null end), clean_s: $took, dirty_mib: $mib,
			hdd_written_mib: (($a.hdd_written - $b.hdd_written) / 2048) }' | record "N dirty"
}

# ----------------------------------------------------------------------------------------------

one()
{
	trap 'kill -9 $(jobs -p) 2>/dev/null || true' EXIT
	renew
	settings >/run/settings
	"work_${WORKLOAD%[12]}"
}

# watch SECONDS		the machine dies by then
watch()
{
	sleep "$1"
	echo "$WORKLOAD $REP: $STACK takes longer than $1 s, the machine is ended"
	echo VMRUN-KILL
}

# report STATUS SECONDS
report()
{
	local failed=()

	if [ "$1" != 0 ]; then
		echo "$WORKLOAD $REP: $STACK failed, see the kernel's last lines:"
		dmesg --notime | tail -n 4
		failed=(--arg failed "status $1")
	fi
	sort -u -o /run/settings /run/settings
	jq -c --arg workload "$WORKLOAD" --arg stack "$STACK" --argjson rep "$REP" --argjson took_s "$2" \
		--rawfile settings /run/settings "${failed[@]}" -s '($ARGS.named | .settings |= (rtrimstr("\n") | gsub("\n"; "; "))) +
		if $ARGS.named.failed then {} else { cases: from_entries } end' /run/cases >>/out/runs.json
	rm -f /out/now
}

# shellcheck disable=SC2119
load_modules
mkdir -p "$LIB_STATE"
if [[ $WORKLOAD == H* ]]; then
	SSD=$(lib_null_blk ssd $((SSD_MIB * 2048)))
	HDD=$(lib_null_blk hdd $((HDD_MIB * 2048)))
	META=$(lib_null_blk meta "$(blockdev --getsz $META)")
fi
[ "$WORKLOAD" != I ] || programs
while read -r REP STACK <&3; do
	[ $SECONDS -lt "$BENCH_LEFT" ] || exit 77
	parse "$STACK"
	echo "$REP $STACK" >/out/now
	echo "$WORKLOAD $REP: $STACK"
	: >/run/cases
	: >/run/settings
	FIO_RUNS=0
	HOLD=
	watch "$(limit_of "$WORKLOAD")" &
	watcher=$!
	set +e
	begin=$SECONDS
	(set -e; one) 3<&-
	rc=$?
	took=$((SECONDS - begin))
	if mountpoint -q $FS; then umount $FS; fi
	gone() { down && lib_remove_dm; }
	gone
	gone=$?
	kill -9 $watcher
	wait $watcher 2>/dev/null
	set -e
	report $rc $took
	if [ $gone != 0 ]; then
		echo "bench: $STACK can't be stopped, there will be another machine"
		exit 1
	fi
done 3</out/in/todo
