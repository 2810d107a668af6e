#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What goes around the measurements of make bench: the report, the plan, cutting traces.
# shellcheck disable=SC2154
. "$(dirname "$0")/common.sh"

bench=$here/../bench

# ---- the report ----
# runs WORKLOAD STACK CASE FIGURE VALUE...	a line for each value
runs()
{
	local workload=$1 stack=$2 case=$3 figure=$4 rep=0 value

	shift 4
	for value; do
		rep=$((rep + 1))
		echo "{\"workload\":\"$workload\",\"stack\":\"$stack\",\"rep\":$rep,\"took_s\":1," \
			"\"settings\":\"0 8 $stack 254:0 1\",\"cases\":{\"$case\":{\"$figure\":$value}}}"
	done
}

mkdir run
echo '{"date":"2026-01-02","cold":60,"requests":100,"kernel":"6.1 <x>","bytes_a_slot":{"64":30,"4":31}}' >run/settings.json
{
	runs A hdd warm iops 100 101 99 100 100
	runs A ssd warm iops 4000 4000 4000 4000 4000
	runs A tier-wb warm iops 2000 1000 3000 2200 1800
	runs A cache64-wb warm iops 500 500 500 500 500
	runs A bcache-wb warm iops 1600 1600 1600 1600 1600
	runs A bcache-wt warm iops 9999 9999 9999 9999 9999
	runs A5 tier-wb warm iops 140 140 140 140 140
	runs A5 cache256-wb warm iops 100 100 100 100 100
	runs D tier-wb cold to_80_s 5 5
	runs D cache64-wb cold to_80_s 10 10
	runs H1 tier-wb randread iops 95 95 95 95 95
	runs H1 linear randread iops 100 100 100 100 100
	runs H2 tier-wb randread iops 171 171 171 171 171
	runs H2 linear randread iops 180 180 180 180 180
	runs H1 tier-wb randwrite iops 91 91 91 91 91
	runs H1 linear randwrite iops 100 100 100 100 100
	runs H2 tier-wb randwrite iops 91 91 91 91 91
	runs H2 linear randwrite iops 180 180 180 180 180
	runs E tier-wb "what hot keeps & more" kept_percent 90
	for rep in 1 2 3 4 5; do
		echo "{\"workload\":\"G\",\"stack\":\"tier-wb\",\"rep\":$rep,\"took_s\":1,\"settings\":\"\",\"cases\":{" \
			'"one":{"hdd_ios_all":70,"total_s":1,"ssd_written":4,"read":2},' \
			'"two":{"hdd_ios_all":110,"total_s":2,"ssd_written":4,"read":6}}}'
		echo "{\"workload\":\"G\",\"stack\":\"cache64-wb\",\"rep\":$rep,\"took_s\":1,\"settings\":\"\",\"cases\":{" \
			'"one":{"hdd_ios_all":200,"total_s":1,"ssd_written":4,"read":2},' \
			'"two":{"hdd_ios_all":100,"total_s":2,"ssd_written":4,"read":6}}}'
	done
	echo '{"workload":"B","stack":"writeboost","rep":2,"failed":"status 1"}'
} >run/runs.json
run "$bench/report.py" run
is "$RC $ERR" "0 " "a report of a run's directory"
report=$OUT
row()		# REGEX DESCRIPTION: blanks don't matter
{
	like "$(tr -s ' ' <<<"$report")" "$1" "$2"
}
row $'\n tier-wb 2000 1000 - 3000 5 1\.25 20 0\.5\n' "median, spread, runs, ratios to peer, disk and limit"
row $'\n bcache-wt 9999 9999 - 9999 5 1 100 2\.5' "a peer in another mode has no part in that"
row $'\n tier-wb 180 180 - 180 5 0\.6 - - 3 1\n' "all traces: sums"
row $'\n A writeback: IOPS at least 1\.15 of the best peer.s 1\.25 met\n' "a bar that is met"
row $'\n A5 IOPS at least 1\.5 of dm-cache.s 1\.40 not met\n' "... that is not"
row $'\n B IOPS at least the best peer.s in each - not measured\n' "... of which nothing is known"
row $'\n D time at most half of dm-cache.s 0\.50 met, but on 2 of 5 runs\n' "... on too few runs"
row $'\n G requests of the disk, all traces: at most 0\.72 of dm-cache.s 0\.60 met\n' "... on a sum"
row $'\n G on no trace more than dm-cache two: 1\.10, one: 0\.35 not met\n' "... for each of several: that which fails is first"
row $'\n H IOPS at least 0\\.92 of dm-linear.s randwrite: 0\\.91, randread: 0\\.95 not met\n' "... in both directions"
row "from 1 to 2 processors: gains at least what dm-linear does randwrite: 0\.56, randread: 1\.00 not met" "... on two machines"
row $'\n memory at most 32 bytes a slot, blocks of 64 KiB 30 met\n' "... of the settings"
row $'\n memory at most 24 bytes a slot, blocks of 4 KiB 31 not met\n' "... which fails"
row "failed: B, repetition 2: writeboost: status 1" "what failed is named"
is "$(cd run/plots && echo *)" "A.svg A5.svg D.svg E.svg G.svg H1.svg H2.svg" "a plot for each workload"
for f in run/plots/*.svg; do
	run python3 -c '
import sys, xml.etree.ElementTree as e
root = e.parse(sys.argv[1]).getroot()
svg = "{http://www.w3.org/2000/svg}"
assert root.tag == svg + "svg"
height, width = float(root.get("height")), float(root.get("width"))
bars = [r for r in root.iter(svg + "rect") if r.get("x")]
assert bars and all(0 <= float(r.get("width")) and float(r.get("x")) + float(r.get("width")) <= width and
                    float(r.get("y")) + 14 <= height for r in bars)
print(len(bars), len(list(root.iter(svg + "text"))))' "$f"
	is "$RC $ERR" "0 " "${f##*/} is well-formed, all bars in it"
done
run "$bench/report.py" run/bench.json
is "$OUT" "${report%$'\n\n'All runs*}" "bench.json: the same report"
run "$bench/report.py" --docs . run/bench.json
is "$RC$OUT$ERR" "0" "--docs"
like "$(<performance.md)" "\| A \| writeback: IOPS at least 1\.15 of the best peer's \| 1\.25 \| met \|" "... with the bars"
like "$(<performance.md)" "\| kernel \| 6\.1 <x> \|" "... the settings"
like "$(<performance.md)" $'\n\\| tier-wb \\| 0 8 tier-wb DEV 1 \\| A A5 D E H1 H2 \\|' "... the stacks' settings"
like "$(<performance.md)" '!\[A5\]\(performance/A5\.svg\)' "... and plots"
is "$(cmp performance/A5.svg run/plots/A5.svg && echo same)" same "... which are there"
for f in "nowhere" "run/runs.json" "--docs . run" "--wrong" ""; do
	# shellcheck disable=SC2086
	run "$bench/report.py" $f
	is "$RC $OUT" "1 " "report.py $f: an error"
done

# ---- the plan ----
plan()		# VARIABLE=VALUE...
{
	run env -u TIER_BUILD -u KVER -u STACKS -u WORKLOADS -u TRACES BENCH_RUN="$PWD/plan" "$@" "$bench/run" --plan
}

plan
is "$RC $ERR" "0 " "the plan of a whole run"
for w in A A5 B C D E F G H1 H2 I J K; do
	like "$OUT" $'\n'"$w +[0-9]+ measurements, about +[0-9]+ min: .*tier-wb" "... has $w"
done
like "$OUT" "all: about [0-9]+ min$" "... and its time"
plan WORKLOADS="C K" STACKS="hdd tier-wb tier-wt cache256-wb" BENCH_REPS=3
like "$OUT" $'\nC +12 measurements.*: hdd tier-wb tier-wt cache256-wb\nK +9 measurements.*: hdd tier-wb cache256-wb\n' \
	"some workloads and stacks, as far as they fit"
mkdir plan
echo '{"warm":7,"seconds":10,"cold":60,"requests":15000,"ssd":256,"seed":5,"traces":"zipf mail pages files scan log"}' >plan/settings.json
{ runs C hdd x iops 1 2; runs C tier-wb x iops 1; } >plan/runs.json
plan WORKLOADS="C K" STACKS="hdd tier-wb" BENCH_REPS=2
like "$OUT" "^seed 5, 2 repetitions, warm 7 s" "a run that goes on has its settings"
like "$OUT" $'\nC +1 measurements.*\nK +4 measurements' "... and what it has is not measured again"
wrong()		# MESSAGE VARIABLE=VALUE...
{
	plan "${@:2}"
	is "$RC $ERR" "2 bench: $1" "refused: ${*:2}"
}
wrong "$PWD/plan has warm '7', now it is '20': begin another run" BENCH_WARM=20
wrong "no workload X; there are A A5 B C D E F G H1 H2 I J K" WORKLOADS="A X"
for s in teir tier-xx ssd64 writecache-wt cache64-fill0 bcache-pt tier-fill; do
	wrong "no stack $s; see the head of tests/bench/run" STACKS="hdd $s"
done
wrong "BENCH_REPS is 'many', and must be a number below 1000000" BENCH_REPS=many
wrong "BENCH_REPS must not be 0" BENCH_REPS=0
rm -r plan
wrong "BENCH_SSD is 8 MiB, and must be at least 32" BENCH_SSD=8
wrong "TRACES: nowhere can't be read" TRACES=nowhere
mkdir empty
wrong "no traces (*.dmt, *.csv, packed or not, *.iolog) in $PWD/empty" TRACES="$PWD/empty"

# ---- traces cut ----
tracecut=$here/build/tracecut
"$here/build/tracegen" mail 1 2000 256 dmt >mail.dmt
run "$tracecut" mail.dmt 1000 256
like "$RC $ERR" "^0 1000 [0-9]+$" "the first requests of a trace"
echo "$OUT" >mail.iolog
is "$(grep -cE '^/dev/sdb (read|write) ' mail.iolog)" 1000 "... all of them"
run "$DMTIER" sim --policy lru --size 10% mail.iolog
is "$RC" 0 "... as an iolog"
printf 'time_us,op,sector,sectors\n0,R,40960000,8\n5,W,8,8\n6,R,40960008,8\n9,R,2040,16\n12,R,90000000,8\n' >far.csv
run "$tracecut" far.csv 100 3
is "$OUT" "fio version 2 iolog
/dev/sdb add
/dev/sdb open
/dev/sdb read 2097152 4096
/dev/sdb write 4096 4096
/dev/sdb read 2101248 4096
/dev/sdb read 1044480 8192" "moved together, and as many as fit"
is "$ERR" "4 40" "... how many, and the pages they touch"
run "$tracecut" far.csv 100 0
is "$RC" 2 "no room: usage"
run "$tracecut" nowhere 100 3
like "$RC $ERR" "1 tracecut: nowhere: No such file or directory" "no trace"
done_testing
