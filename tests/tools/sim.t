#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# dmtier sim: traces of all formats give the same figures; its options, its output, and what it says of bad traces.
# shellcheck disable=SC2154
. "$(dirname "$0")/common.sh"

tracegen=$here/build/tracegen
few="--policy clock2q --keep adaptive --size 10%"

gen()		# WORKLOAD REQUESTS FORMAT
{
	"$tracegen" "$1" 1 "$2" 64 "$3"
}

# ---- formats ----
for f in dmt csv csv-bytes blkparse iolog2 iolog3; do
	gen mail 2000 $f >"mail.$f"
	# shellcheck disable=SC2086
	run "$DMTIER" sim $few "mail.$f"
	OUT=${OUT/mail.$f/TRACE}
	[ $f != dmt ] || first=$OUT
	is "$RC $ERR" "0 " "a trace as $f"
	is "$OUT" "$first" "... gives the same figures"
done
like "$first" "^TRACE: [0-9]+ requests, [0-9]+ % reads, in [0-9.]+ s; [0-9.]+ MiB in all, [0-9.]+ MiB touched" "a line about the trace"
like "$first" "64 KiB +[0-9.]+ MiB clock2q adaptive +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ MiB +[0-9.]+ +[0-9.]+" "a line of figures"
zstd -q mail.dmt mail.csv
# shellcheck disable=SC2086
{
	run "$DMTIER" sim $few mail.dmt.zst
	is "${OUT/mail.dmt.zst/TRACE}" "$first" "packed by zstd"
	run "$DMTIER" sim $few mail.csv.zst
	is "${OUT/mail.csv.zst/TRACE}" "$first" "text, packed"
	run "$DMTIER" sim $few - <mail.csv
	is "${OUT/-:/TRACE:}" "$first" "standard input"
	run "$DMTIER" sim $few - <mail.dmt.zst
	is "${OUT/-:/TRACE:}" "$first" "a packed file as standard input"
	run "$DMTIER" sim $few - < <(cat mail.dmt)
	is "${OUT/-:/TRACE:}" "$first" "a pipe"
}
dmtier_is 8 "a packed pipe" sim - < <(cat mail.dmt.zst)
like "$ERR" "standard input: it is packed by zstd, and no file: use zstd -dc" "... says what to do"
run env PATH=/nonexistent "$DMTIER" sim mail.dmt.zst
is "$RC" 8 "without zstd"
like "$ERR" "mail.dmt.zst: it is packed, and the program zstd cannot be run" "... it is said"
head -c 3000 mail.dmt.zst >cut.zst
dmtier_is 8 "a packed file that is cut off" sim cut.zst
like "$ERR" "cut.zst: zstd cannot unpack it" "... is named"

# ---- bad traces ----
bad()		# DESCRIPTION FILE MESSAGE
{
	dmtier_is 8 "$1" sim "$2"
	like "$ERR" "dmtier sim: $3" "... is named"
	is "$OUT" "" "... and nothing else is said"
}

: >empty
bad "an empty file" empty "empty: no read or write in it$"
bad "a directory" . "\.: Is a directory$"
bad "a file that is not there" nowhere "nowhere: No such file or directory$"
bad "something else" "$DMTIER" ".*: neither text of blkparse nor an iolog of fio nor CSV with a head line nor DMT1$"
head -c 5000 mail.dmt >short
bad "a binary trace that is cut off" short "short: it ends in record 309 of [0-9]+$"
head -n 100 mail.csv >wrong
echo "99,R,12345678901234567890123,8" >>wrong
bad "a number that overflows" wrong "wrong:101: sector '12345678901234567890123' is too large$"
echo "fio version 3 iolog
-5 /dev/sdb read 0 4096" >wrong
bad "a negative time" wrong "wrong:2: time '-5' is negative$"
sed -n '1,2p;10,20p' mail.blkparse | sed '5s/+/-/' >wrong
bad "a damaged line of blkparse" wrong "wrong:5: no '\+' between sector and length$"
{ cat mail.blkparse; sed 's/8,16/8,32/' mail.blkparse; } >two
bad "two devices" two "two:[0-9]+: a request of 8,32 after some of 8,16: choose one with --device$"
# shellcheck disable=SC2086
run "$DMTIER" sim $few --device 8,32 two
is "${OUT/two/TRACE}" "$first" "... one of them"
dmtier_is 8 "... and one that is not there" sim --device 8,48 two
like "$ERR" "two: no read or write of 8,48 in it" "... is named"
printf 'time_us,op,sector,sectors\n5,R,0,8\n3,R,0,8\n' >back
dmtier_is 0 "times that run backwards" sim back
like "$ERR" "warning: back:3: the time runs backwards here, 1 times in all" "... are warned of"

# sums are passed over, but not what is among them
{ cat mail.blkparse; echo rubbish; } >skip
dmtier_is 0 "a line without sense" sim --policy lru skip
like "$ERR" "warning: skip:[0-9]+: this line makes no sense and is left out, 1 such lines in all" "... is warned of"
dmtier_is 8 "a device of a trace that names none" sim --device 8,16 mail.csv
like "$ERR" "mail.csv: --device 8,16 cannot be had: a trace as CSV names no devices" "... is refused"
{ printf '\xef\xbb\xbf'; tr , ';' <mail.csv; } >excel.csv
# shellcheck disable=SC2086
run "$DMTIER" sim $few excel.csv
is "${OUT/excel.csv/TRACE}" "$first" "CSV as a spreadsheet writes it"
printf 'time_us,op,sector,sectors\n0,R,0,8\n0,W,0,8\n0,R,8,8\n' >thirds
dmtier_is 0 "two reads of three" sim --policy lru --size 64k thirds
like "$OUT" "3 requests, 67 % reads" "... are 67 %"

# far out, and huge: nothing depends on the size of the device
printf 'time_us,op,sector,sectors\n0,R,562949953421304,8\n0,W,0,16777216\n1,R,0,8\n' >far
dmtier_is 0 "requests at the end of 256 PiB, and of 8 GiB" sim --policy lru --size 64k,8g --keep populate far
like "$OUT" "8 GiB lru +populate +100\.0 +33\.3" "... work"

# ---- options ----
dmtier_is 0 "lists" sim --policy lru --policy "clock2q small_percent 20" --block-size 4k,64k --size 1m,5%,2m --keep copy,fill mail.dmt
is "$(wc -l <<<"$OUT")" 26 "... of policies, blocks, sizes, ways make a line each"
like "$OUT" "64 KiB +2 MiB clock2q small_percent 20 fill" "... with tunables"
dmtier_is 0 "an SSD smaller than a block" sim --policy lru --keep fill --block-size 4k,64k --size 32k mail.dmt
like "$OUT" "64 KiB 32 KiB lru    fill +- +- +- +- +- +-" "... has no figures"
like "$OUT" $'\n-: not simulated, as such an SSD is smaller than a block$' "... which is explained"
small=$(grep "4 KiB 32 KiB" <<<"$OUT")
run "$DMTIER" sim --policy lru --keep fill --block-size 4k --size 32k --extent 32k mail.dmt
ok "$([ "$small" != "$(grep "4 KiB 32 KiB" <<<"$OUT")" ]; echo $?)" "--extent changes what is filled"
for d in 0 1000; do
	run "$DMTIER" sim --policy lru --keep copy --delay $d --size 10% --json mail.dmt
	hits[d]=$(field '.traces[0].results[0].hits')
done
ok "$([ "${hits[0]}" -gt "${hits[1000]}" ]; echo $?)" "--delay makes copies late (${hits[0]}, ${hits[1000]} hits)"
run "$DMTIER" sim --policy lru --keep fill --size 10% --footprint 1m --json mail.dmt
ok "$([ "$(field '.traces[0].footprint_bytes % 1048576')" = 0 ]; echo $?)" "--footprint counts in its unit"
is "$(field '.traces[0].results[0] | .ssd_bytes')" "$(field '.traces[0].footprint_bytes / 10 | floor')" "... and shares are of it"

usage()		# MESSAGE ARGUMENT...
{
	dmtier_is 16 "sim ${*:2}" sim "${@:2}" mail.dmt
	like "$ERR" "$1" "... is told"
}
usage 'unknown policy "nosuch"; known policies are .*clock2q' --policy nosuch
ok "$([[ $ERR != *tunables* ]]; echo $?)" "... and of no other's tunables"
usage 'policy lru has no tunable "x"' --policy "lru x 1"
usage "bad value \"99\" of \"small_percent\".*small_percent: .* 1-90" --policy "seqbypass next clock2q small_percent 99"
ok "$([[ $ERR != *known* ]]; echo $?)" "... and no list of policies"
usage "the policy's name is missing" --policy ""
usage "block size '5k' is not a power of two" --block-size 4k,5k
usage "SSD size '0%' is no percentage" --size 0%
usage "SSD size '1001%' is no percentage" --size 1001%
usage "SSD size '1.2.3%' is no percentage" --size 1.2.3%
usage "SSD size 'nan%' is neither" --size nan%
usage "SSD size '99999999999999999999g' is not from 4k to 1e" --size 99999999999999999999g
usage "SSD size '16e' is not from 4k to 1e" --size 16e
usage "SSD size '5' is not from 4k to 1e \(a percentage ends in %\)" --size 5
usage "extent changes nothing without --keep fill" --extent 64k --keep populate
usage "delay changes nothing without --keep copy" --delay 20 --keep fill
dmtier_is 0 "what is named twice" sim --policy lru --policy lru --block-size 64k,64k --size 1m,1m,5%,5% --keep fill,fill mail.dmt
is "$(wc -l <<<"$OUT")" 4 "... is simulated once"
usage "SSD size '' is neither" --size 5%,
usage "'all' is none of copy, populate, fill, adaptive" --keep all
usage "extent '2m' is not a power of two from 4k to 1m" --extent 2m
usage "delay '-1' is no number" --delay -1
usage "delay '99999999999999999999' is no number" --delay 99999999999999999999
usage "unit '1k' is not a power of two" --footprint 1k
usage "draws the curves of one trace" --mrc x.svg mail.csv
usage "more than 32 sizes" --size "$(seq -s, -f %gm 33)"

# ---- several traces, JSON ----
gen zipf 2000 dmt >zipf.dmt
run "$DMTIER" sim --policy lru --size 10% --json mail.dmt zipf.dmt
json_ok "JSON"
is "$(field '.traces | length')" 2 "... has the traces"
is "$(field '.traces[0].results | map(.keep) | join(" ")')" "copy populate fill adaptive" "... the ways of keeping"
is "$(field '(.traces[0].results[0].hit_percent + .traces[1].results[0].hit_percent) / 2 - .mean[0].hit_percent | fabs < 0.02')" true "... and means"
is "$(field '.traces[0].results[0] | .hits + .bypassed <= .accesses and .copies == .insertions and .slow_requests <= .requests')" true "... counts that fit"
is "$(field '[.traces[].results[] | .ssd_bytes] | unique | length')" 2 "all are compared at the same size"
run "$DMTIER" sim --policy lru --size 10% mail.dmt zipf.dmt
like "$OUT" $'\nmean of 2 traces:\n.*TRACES\n.*10 % lru    adaptive[^\n]* 2$' "means for people"
run "$DMTIER" sim --policy lru --keep fill --size 10%,1% --block-size 64k mail.dmt zipf.dmt
like "$OUT" $'64 KiB +1 % lru    fill [^\n]* 1\n?' "... say of how many traces they are"
like "$OUT" $'\n-: not simulated, as such an SSD is smaller than a block\n' "... and what - is"
run "$DMTIER" sim --policy lru --keep fill --size 10%,1%,0.00005% --json mail.dmt zipf.dmt
is "$(field '.mean | map(.traces) | join(" ")')" "2 1 0" "... also as JSON"
is "$(field '.mean | map(.ssd_percent) | join(" ")')" "10 1 5e-05" "... whose shares are what was asked for"
dmtier_is 16 "a trace given twice" sim mail.dmt zipf.dmt mail.dmt
like "$ERR" "mail.dmt is named twice: name each trace once" "... is refused"
dmtier_is 16 "... nor by another name" sim mail.dmt ./mail.dmt
like "$ERR" "mail.dmt and ./mail.dmt are the same trace" "... which is told"
dmtier_is 8 "the second trace is bad" sim --json --policy lru mail.dmt empty
json_ok "... what was found before it is good JSON"

# ---- the curve ----
dmtier_is 0 "--mrc" sim --policy clock2q --policy lru --keep fill --size 10% --mrc "a<b.svg" mail.dmt
like "$OUT" "clock2q, 64 KiB, fill: an SSD of [0-9.]+ MiB is worth buying: it leaves [0-9.]+ of 100 accesses" "... says what is worth buying"
ok "$(python3 -c 'import sys, xml.dom.minidom as m; d = m.parse(sys.argv[1]); sys.exit(len(d.getElementsByTagName("polyline")) != 2)' "a<b.svg"; echo $?)" "... and draws two curves"
run "$DMTIER" sim --policy clock2q --keep fill --mrc x.svg --json mail.dmt
json_ok "--mrc with JSON"
is "$(field '.traces[0].curves[0].points | [.[].slow_accesses_per_100] | .[0] > .[-1]')" true "... has the points"
is "$(field '.traces[0].curves[0] | (.points | length) - ([.points[].ssd_bytes] - [.worth_bytes] | length)')" 1 "... one of which is worth buying"
for b in 4k,256k 256k,4k 4k; do
	run "$DMTIER" sim --policy clock2q --keep populate --mrc x.svg --json --block-size $b mail.dmt
	points[${#points[@]}]=$(field '.traces[0].curves[] | select(.label | contains("4 KiB")) | [.points[] | "\(.)"] | join(" ")')
done
is "${points[0]}" "${points[2]}" "a curve is the same beside one of larger blocks"
is "${points[1]}" "${points[2]}" "... in any order"
like "${points[2]}" '"ssd_bytes":[0-9]{5},' "... and has sizes for its own blocks"
# pages that nobody asks for again
{ echo "time_us,op,sector,sectors"; seq -f "%.0f" 0 100000 40000000 | sed 's/.*/0,R,&,8/'; } >once.csv
run "$DMTIER" sim --policy clock2q --keep populate --mrc x.svg once.csv
like "$OUT" "no SSD is worth buying: one for all blocks touched \([0-9.]+ MiB\) leaves 100.0 of 100" "nothing is worth buying"
dmtier_is 8 "a curve that can't be written" sim --policy lru --mrc /nonexistent/x.svg mail.dmt
like "$ERR" "cannot write /nonexistent/x.svg" "... is named"
if [ -w /dev/full ]; then
	dmtier_is 8 "a full disk" sim --policy lru --mrc /dev/full mail.dmt
	like "$ERR" "cannot write /dev/full" "... is told"
fi

# ---- the curve's file ----
echo old >old.svg
cp mail.csv own.csv
dmtier_is 16 "a curve over its own trace" sim --policy lru --mrc own.csv own.csv
like "$ERR" "would overwrite the trace" "... is refused"
cmp -s mail.csv own.csv
ok $? "... and the trace is as it was"
ln own.csv linked.csv
dmtier_is 16 "nor by another name" sim --policy lru --mrc linked.csv own.csv
usage "takes the name of a file" --mrc - mail.csv

# ---- cancelled, also while it waits for a trace ----
mkfifo pipe
for n in 1 2; do
	"$DMTIER" sim --mrc old.svg pipe >/dev/null 2>err &
	pid=$!
	[ $n = 1 ] || exec 3>pipe
	sleep 0.2
	kill -TERM $pid
	wait $pid
	is "$?" 32 "a signal ends it with its own status"
	like "$(<err)" "cancelled" "... and it says so"
done
exec 3>&-
is "$(cat old.svg) $(echo old.svg*)" "old old.svg" "... and the curve's file is what it was"

done_testing
