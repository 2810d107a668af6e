# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=20000
#
# The harness finds bugs: every mutant of the module is caught.
# shellcheck source=../powercut/lib.sh
. "${0%/*}/../powercut/lib.sh"

while read -r nr name; do
	if [[ $name == "(FUA)"* ]]; then
		skip "mutant $nr ($name)" "the harness can't see it"
		continue
	fi
	echo "$nr" >/sys/module/dm_tier/parameters/mutant
	"$POWERCUT" -x -b 64 -f 1 -k 6 -e 0 -c 0 >"$WORK/mutant" 2>&1 &&
	for b in 64 4 256; do
		"$POWERCUT" -b $b -f 1 -n 6000 -t 300 -c 0 -s "$((nr * 100))" >"$WORK/mutant" 2>&1 || break
	done
	if grep -q '^# FAILURE' "$WORK/mutant"; then
		pass "mutant $nr ($name): $(sed -n 's/^# powercut: //p' "$WORK/mutant")"
	else
		fail "mutant $nr ($name) is not caught"
		diag <"$WORK/mutant"
	fi
done < <("$TIER_TOP/tests/vm/powercut/mutate" --list)

done_testing
