#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The command line of dmtier: help, usage, links, sizes, status lines, messages that the parser refuses.
# shellcheck disable=SC2119
. "$(dirname "$0")/common.sh"

verbs="format check table create remove status flush mode set policy promote demote pin unpin invalidate size sim"

# ---- help ----
dmtier_is 0 "--help" --help
for v in $verbs; do
	like "$OUT" "$v " "... lists $v"
done
dmtier_is 0 "help" help
dmtier_is 0 "--version" --version
like "$OUT" "^dmtier [0-9]" "... prints one"
for v in $verbs; do
	dmtier_is 0 "$v --help" "$v" --help
	like "$OUT" "^usage: dmtier $v" "... prints the usage"
	help=$OUT
	dmtier_is 0 "help $v" help "$v"
	is "$OUT" "$help" "... is the same"
	dmtier_is 0 "$v --version" "$v" --version
	dmtier_is 16 "$v with an unknown option" "$v" --nonsense
	like "$ERR" "dmtier $v: .*nonsense" "... names it"
	like "$ERR" "dmtier $v --help" "... points to the help"
done
dmtier_is 16 "no verb"
dmtier_is 16 "unknown verb" nonsense
like "$ERR" "unknown verb 'nonsense'" "... is named"
dmtier_is 16 "help of an unknown verb" help nonsense
for v in format check table create remove flush mode set policy promote size sim; do
	dmtier_is 16 "$v without arguments" "$v"
done
dmtier_is 16 "too many arguments" size 1g 2g 3g
dmtier_is 16 "option without its value" format --block-size

# every option in the help is in the manual, and so is every exit code
man=$here/../../docs/dmtier.8
for v in $verbs; do
	for o in $("$DMTIER" "$v" --help | grep -oE -- '--[a-z-]+' | sort -u); do
		grep -q -- "Fl -${o#--}" "$man"
		ok $? "option $o of $v is in the manual"
	done
done
if command -v mandoc >/dev/null; then
	run mandoc -T lint -W warning "$man"
	is "$OUT" "" "the manual page is good mdoc"
else
	skip "no mandoc"
fi

# ---- links ----
ln -s "$DMTIER" tier_check
ln -s "$DMTIER" tier_format
images
run ./tier_format ssd hdd meta
is "$RC" 0 "tier_format"
run ./tier_check meta
is "$RC" 0 "tier_check"
like "$OUT" "meta: good" "... checks"
ln -s "$DMTIER" tier_nonsense
run ./tier_nonsense check meta
is "$RC" 0 "under another name the verb is the first word"

# options may stand behind the devices
dmtier_is 0 "options at the end" format ssd hdd meta --dry-run --force
dmtier_is 16 "behind -- they are devices" format ssd hdd meta -- --dry-run

# ---- names with blanks ----
mkdir "a dir"
mv ssd "a dir/the ssd"
mv hdd "a dir/the hdd"
mv meta "a dir/the meta"
dmtier_is 0 "format names with blanks" format --force "a dir/the ssd" "a dir/the hdd" "a dir/the meta"
dmtier_is 0 "check them" check "a dir/the ssd" "a dir/the hdd" "a dir/the meta"
mv "a dir/the meta" $'a dir/with "quotes"\nand \xff'
dmtier_is 0 "names that JSON must quote" check --json $'a dir/with "quotes"\nand \xff'
json_ok "... JSON"

# ---- sizes ----
size_is()	# BYTES TEXT
{
	run "$DMTIER" size --block-size "$2" 1g 10g --json
	is "$RC $(field .block_bytes)" "0 $1" "$2 is $1"
}
size_is 65536 64k
size_is 65536 64K
size_is 65536 64KiB
size_is 65536 64kb
size_is 65536 65536
size_is 65536 65536b
size_is 65536 128s
size_is 1048576 1m
size_is 524288 0.5m
size_is 4096 4k
for bad in 0 3k 2k 2m 48k 64q k 64kk -64k 1e3 0x1000 "" " " 99999999999999999999 16777216t 64.k 1.5s; do
	dmtier_is 16 "block size '$bad'" size --block-size "$bad" 1g 10g
done
for bad in x 1gg 1..5g -1g 999999999e; do
	dmtier_is 16 "device size '$bad'" size "$bad" 10g
done
dmtier_is 8 "SSD too small" size 1m 10g
dmtier_is 8 "HDD empty" size 1g 0
dmtier_is 8 "more slots than there may be" size --block-size 4k 32t 100t
like "$ERR" "larger block size" "... says what to do"
dmtier_is 0 "sizes" size 120g 4t
like "$OUT" "block size +64 KiB" "... the usual blocks"
like "$OUT" "metadata +[0-9]+ bytes" "... metadata"
bytes_a_slot()	# AT_MOST ARG...
{
	local most=$1

	shift
	run "$DMTIER" size --json "$@"
	is "$RC $(field ".memory_bytes_per_slot <= $most")" "0 true" \
		"at most $most bytes of memory a slot: $*"
}
bytes_a_slot 32 --block-size 64k 64g 4t
bytes_a_slot 32 --block-size 64k 480g 8t
bytes_a_slot 24 --block-size 4k 32g 1t
bytes_a_slot 24 --block-size 4k 480g 8t
image aside 1g
image bside 10g
run "$DMTIER" size 1g 10g
want=$OUT
dmtier_is 0 "sizes of files" size aside ./bside
is "$OUT" "$want" "... are the same"
mkdir sdir
dmtier_is 8 "a directory in place of a size" size sdir 10g
dmtier_is 16 "neither size nor device" size /no/such 10g
like "$ERR" "'/no/such' is neither a size such as 120g nor a device" "... says so"
run "$DMTIER" size --json 8t 200t
json_ok "JSON of size"
[ "$(field '.memory_core_bytes + .memory_policy_bytes')" -le $((512 << 20)) ]
ok $? "a huge SSD gets blocks that keep the memory in bounds"
is "$(field '(.memory_core_bytes + .memory_policy_bytes) / .slots - .memory_bytes_per_slot | fabs <= 0.05')" true "... and memory for each slot"
for b in 4k 64k; do
	run "$DMTIER" size --json --block-size $b 1t 4t
	is "$(field '.memory_bytes_per_slot < 32')" true "blocks of $b: less than 32 bytes for each of many slots"
done

# ---- status lines ----
counters="read_hits 30 read_misses 10 write_hits 9 write_misses 1 commits 8"
state="flush running flush_left 77 intent 0 unwritable 0 fast_errors 0"
cat >lines <<END
fast: 0 2097152 tier rw - writeback writeback 128 8 800/1600 32 10 55 3/64 10 $counters 10 $state 4 dirty_high 50 dirty_low 20 clock2q 0
other: 0 100 linear 8:0 0
old: 0 2048 tier ro needs_check passthrough writeback 8 8 0/16 0 0 0 0/16 10 $counters 10 $state 0 seqbypass 8 threshold 512 next clock2q a b c d
END
dmtier_is 0 "status" status --from lines
like "$OUT" "fast +rw +writeback +1 GiB +64 KiB +50.0% +220 KiB +75.0% +90.0% +clock2q" "... a line for people"
like "$OUT" "old +ro, needs check +passthrough, wanted writeback +1 MiB" "... trouble is told"
is "$(grep -c other <<<"$OUT")" 0 "... other targets are left out"
dmtier_is 0 "status --long" status --long --from lines
like "$OUT" "flush_left +77" "... tells all"
dmtier_is 0 "status --json" status --json --from lines
json_ok "... JSON"
is "$(field '.devices[0] | [.name, .dirty_bytes, .read_hit_percent, .counters.commits, .state.flush] | join(" ")')" \
	"fast 225280 75 8 running" "... figures"
is "$(field '.devices[1].policy | map(.name) | join(" ")')" "seqbypass clock2q" "... the policy's chain"
is "$(field '.devices[1].policy[0].tunables.threshold')" 512 "... its tunables"
run "$DMTIER" status --json --from - <lines
is "$(field '.devices | length')" 2 "status from standard input"

# what dmsetup prints, and is no status of a tier device
cat >others <<END
No devices found

empty: 
root: 0 4096 linear 8:0 0
END
dmtier_is 0 "status of other devices" status --from others
is "$OUT$ERR" "" "... shows none, and is content"
sed -n 's/^fast: //p' lines >one
dmtier_is 0 "status of a line without name" status --from one
like "$OUT" "line 1 +rw +writeback +1 GiB" "... is shown by its number"
echo "fast: 0 2048 tier inactive" >asleep
dmtier_is 0 "status of a device that was never live" status --from asleep
like "$OUT" "fast +inactive +1 MiB" "... is shown"

# rubbish: file, line, and what is wrong
rubbish()	# FILE LINE SENTENCE DESCRIPTION
{
	dmtier_is 8 "$4" status --from "$1"
	like "$ERR" "$1:$2: $3" "... is told, with file and line"
	run "$DMTIER" status --json --from "$1"
	is "$RC" 8 "... --json too"
	json_ok "... JSON"
}
{ head -n 1 lines; echo "what is this?"; } >text
rubbish text 2 "'what is this[?]' is not a line of 'dmsetup status': NAME: START LENGTH TARGET" "text between"
echo "fast: x 2048 tier rw" >text
rubbish text 1 "'fast: x 2048 tier rw' is not a line" "no start"
echo "fast: 0 2048" >text
rubbish text 1 "'fast: 0 2048' is not a line" "no target"
bent()		# SED-SCRIPT SENTENCE DESCRIPTION
{
	sed -n "1{$1;p}" lines >bent
	rubbish bent 1 "$2" "$3"
}
bent 's/ rw / good /' "the status line has 'good' where rw, degraded, ro, fail or inactive should be" "an unknown health"
bent 's/ - / + /' ".*has '[+]' where needs_check or - should be" "a wrong flag"
bent 's/writeback/write/' ".*has 'write' where a mode should be" "an unknown mode"
bent 's/ 128 / 12a /' ".*has '12a' where a number should be" "a wrong block size"
bent 's|800/1600|800|' ".*has '800' where two numbers" "a wrong ratio"
bent 's| 10 read_hits| 9 read_hits|' ".*has '9' where an even number of words should be" "a wrong count"
bent 's| dirty_low.*||' "the status line ends early" "a line that ends early"
for i in $(seq 30); do echo "rubbish $i"; done >text
run "$DMTIER" status --from text
is "$(grep -c rubbish <<<"$ERR")" 8 "of much rubbish the first lines are named"
like "$ERR" "text: and 22 more lines" "... and the others counted"

# lines that end anywhere, and words that stand where they should not
line=$(head -n 1 lines)
bad=0
while [[ $line == *tier\ * ]]; do
	line=${line% *}
	echo "$line" >short
	run "$DMTIER" status --long --from short
	[ "$RC" -le 8 ] || bad=1
	run "$DMTIER" status --json --from short
	[ "$RC" -le 8 ] || bad=1
	is_json || bad=1
done
ok $bad "status lines that end early"
python3 - <<'PY' >broken-lines
import random
for seed in range(1, 31):
	random.seed(seed)
	w = open('lines').readline().split()
	for _ in range(3):
		w[random.randrange(3, len(w))] = random.choice(['', '-1', '4294967297', '99999999999999999999999', '1/0', '/', 'x', '3', '\x01'])
	print(' '.join(w))
PY
while IFS= read -r line; do
	echo "$line" >broken
	run "$DMTIER" status --json --from broken
	[ "$RC" -le 8 ] && is_json || bad=1
done <broken-lines
ok $bad "status lines with strange words"
head -c 100k /dev/urandom | tr '\0' x >junk
run "$DMTIER" status --from junk
[ "$RC" -le 8 ]
ok $? "status of random bytes"
dmtier_is 8 "status of a file that isn't there" status --from nosuch
dmtier_is 16 "status with names and --from" status --from lines fast

# ---- messages: refused by the parser before the kernel is asked ----
dmtier_is 16 "unknown mode" mode x fast
like "$ERR" "unknown mode 'fast': it is writeback, writethrough, writearound or passthrough$" "... says what would be right"
dmtier_is 16 "a cache is not made a tiered device" mode x tiered
like "$ERR" "a cache can't become tiered" "... which it says"
dmtier_is 16 "value out of range" set x dirty_high 100
like "$ERR" "dirty_high" "... names the key"
dmtier_is 16 "negative value" set x dirty_high -5
dmtier_is 16 "not a number of sectors" promote x zero 10
like "$ERR" "zero" "... names it"
dmtier_is 16 "empty range" pin x 0 0
for key in mode policy; do
	dmtier_is 16 "set of the $key" set x $key lru
	like "$ERR" "$key is no tunable: dmtier $key x lru sets it" "... says which verb does"
done
dmtier_is 16 "a value too few" set x dirty_high
dmtier_is 16 "a value too many" mode x writeback now
dmtier_is 16 "policy with a strange name" policy x "no/such"

# ---- names ----
for name in nonsense/x "" "$(printf 'x%.0s' $(seq 128))"; do
	dmtier_is 16 "create with the name '${name:0:20}'" create "$name" ssd hdd meta
	like "$ERR" "'$name' is not a valid name" "... says so"
done

# ---- without device-mapper, or without the device ----
if [ ! -e /dev/mapper/control ]; then
	for v in "status" "status x" "flush x" "mode x writeback" "set x dirty_high 60" "promote x 0 64k" "policy x lru" "remove x"; do
		# shellcheck disable=SC2086
		dmtier_is 8 "$v without device-mapper" $v
	done
else
	skip "device-mapper is there"
fi
images
"$DMTIER" format ssd hdd meta >/dev/null
dmtier_is 8 "create on files" create x ssd hdd meta
like "$ERR" "SSD ssd is a file" "... says why"

done_testing
