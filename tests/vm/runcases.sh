#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The guest's side of vmtap: runs the cases given as NAME:TIMEOUT:FILE one after the other and tells
# the host, by lines that begin with @@vmtap, where in the stream each begins and ends.

# shellcheck disable=SC2034	# lib.sh is to define things, not to begin a case
LIB_ONLY=1
# shellcheck source=lib.sh
. "$TIER_TOP/tests/vm/lib.sh"

KMEMLEAK=/sys/kernel/debug/kmemleak

# What was allocated since the first case and nobody points to any more, as kmemleak prints it.  It has to see
# the same twice, and nothing that is younger than five seconds.
find_leaks()
{
	sleep 6
	{ echo scan >$KMEMLEAK && echo scan >$KMEMLEAK; } 2>/dev/null || { echo "kmemleak has given up"; return; }
	awk -v since=$((SECONDS - begun)) '
		/^unreferenced object/ { head = $0; next }
		head { match($0, /age [0-9]+/); show = substr($0, RSTART + 4, RLENGTH - 4) < since; if (show) print head; head = "" }
		show' $KMEMLEAK
}

# Where our modules are: once they are gone, the addresses above have no names.
sections()
{
	local d

	for d in /sys/module/dm_tier*/sections; do
		[ ! -e "$d/.text" ] || echo "$(basename "${d%/sections}") .text is at $(cat "$d/.text")"
	done
}

# How often each line of our modules was run, into a directory that the host takes over.  The kernel keeps the
# counts of modules that have been unloaded.
collect_gcov()
{
	local from=/sys/kernel/debug/gcov$TIER_BUILD

	mkdir "$OUT/gcov"
	[ ! -d "$from" ] || (cd "$from" && find . -name '*.gcda' -exec cp --parents -t "$OUT/gcov" {} +)
}

begun=$SECONDS
for arg; do
	IFS=: read -r name limit file <<<"$arg"
	echo "<5>vmtap: case $name begins" >/dev/kmsg
	echo "@@vmtap begin $name"
	CASE=$name LIB_ONLY='' timeout --kill-after=20 "$limit" bash "$file"
	rc=$?
	case $rc in 124 | 137) lib_cleanup ;; esac
	echo "<5>vmtap: case $name ends" >/dev/kmsg
	echo "@@vmtap end $name $rc"
done
# lockdep stops at its first report, and where its tables are full
[ ! -e /proc/lockdep_stats ] || echo "@@vmtap lockdep $(awk '$1 == "debug_locks:" { print $2 }' /proc/lockdep_stats)"
echo "@@vmtap unload"
sections >"$TMPDIR/sections"
unload_modules
echo "@@vmtap unloaded $?"
if [ -e $KMEMLEAK ]; then
	find_leaks >"$TMPDIR/leaks"
	echo "@@vmtap leaks"
	[ ! -s "$TMPDIR/leaks" ] || sed 's/^/@leak /' "$TMPDIR/leaks" "$TMPDIR/sections"
fi
[ -z "${TIER_GCOV:-}" ] || collect_gcov
