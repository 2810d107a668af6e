# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=40000
# vmtap: ignore=Buffer I/O error|blk_update_request|I/O error, dev
#
# The harness finds bugs: every mutant of the module is caught.  TIER_MUTANTS="12 15" tries only these.
# shellcheck source=../powercut/lib.sh
. "${0%/*}/../powercut/lib.sh"

caught=0 all=0

# cut OPTION...		fails if that catches the mutant
cut()
{
	local rc

	"$POWERCUT" -f 1 "$@" >"$WORK/mutant" 2>&1
	rc=$?
	[ $rc = 0 ] || [ $rc = 3 ]	# 3: it took too long
}

# one after the other, until one catches it
try()
{
	if [[ $1 == T* ]]; then
		cut -T 3 -x -b "${1:1:2}" -S "${1#*:}" -k 6 -e 200 -c 0 -t 600 &&
		cut -T 3 -x -b 64 -k 6 -e 0 -c 0 &&
		for n in 2 3; do
			cut -T $n -b 64 -n 6000 -t 300 -c 0 -s "$((nr * 100))" || return
		done
		return
	fi
	cut -x -b "${1%%:*}" -S "${1#*:}" -k 6 -e 200 -c 0 -t 600 &&
	cut -x -b 64 -k 6 -e 0 -c 0 &&
	cut -x -b 4 -k 6 -e 0 -c 0 -t 1200 &&
	for b in 64 4 256; do
		cut -b $b -n 6000 -t 300 -c 0 -s "$((nr * 100))" || return
	done
}

# else all that follows would mean nothing
echo 0 >/sys/module/dm_tier/parameters/mutant
if ! "$POWERCUT" -x -b 64 -S write-miss -k 1 -e 200 -c 0 >"$WORK/mutant" 2>&1; then
	fail "without a mutant nothing fails"
	tail -n 20 "$WORK/mutant" | diag
	done_testing
	exit 1
fi
pass "without a mutant nothing fails"

while read -r nr script name; do
	[[ -z ${TIER_MUTANTS:-} || " $TIER_MUTANTS " == *" $nr "* ]] || continue
	all=$((all + 1))
	echo "$nr" >/sys/module/dm_tier/parameters/mutant
	try "$script"
	if grep -q '^# FAILURE' "$WORK/mutant"; then
		caught=$((caught + 1))
		pass "mutant $nr ($name): $(sed -n 's/^# powercut: //p' "$WORK/mutant" | grep -v ' 0 failures' | head -n 1)"
	else
		fail "mutant $nr ($name) is not caught"
		tail -n 50 "$WORK/mutant" | diag
	fi
done < <("$TIER_TOP/tests/vm/powercut/mutate" --list)
is "$caught of $all" "$all of $all" "mutants caught: $caught of $all"

done_testing
