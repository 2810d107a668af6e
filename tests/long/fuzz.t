#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The fuzzers of tests/fuzz with libFuzzer, one after the other.
#
# environment:
#	TIER_FUZZ_SECONDS	for each of them (3600)
#	TIER_FUZZ_DIR		where what they find new is kept for the next run (build/fuzz of the tree)
#
# An input that fails is kept there as crash-*: put it into the corpus of the tree, with what mends it.
cd "$(dirname "$0")/../fuzz" || exit
seconds=${TIER_FUZZ_SECONDS:-3600}
dir=${TIER_FUZZ_DIR:-$PWD/../../build/fuzz}
names=(sb replay args status image trace)

command -v clang >/dev/null || { echo "1..0 # SKIP no clang"; exit 0; }
make -s libfuzzer >&2 || { echo "Bail out! the fuzzers are not built"; exit 1; }

n=0
for name in "${names[@]}"; do
	n=$((n + 1))
	mkdir -p "$dir/$name"
	build/libfuzzer/fuzz-"$name" -max_total_time="$seconds" -timeout=2 -rss_limit_mb=4096 -max_len=65536 \
		-print_final_stats=1 -verbosity=0 -artifact_prefix="$dir/$name/crash-" \
		"$dir/$name" corpus/"$name" >"$dir/$name.log" 2>&1
	r=$?
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$dir/$name.log")
	if [ $r = 0 ]; then
		echo "ok $n - $name: $runs executions in $seconds s"
	else
		echo "not ok $n - $name"
		tail -n 60 "$dir/$name.log" | sed 's/^/# /'
	fi
done
echo "1..$n"
