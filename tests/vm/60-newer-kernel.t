#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Built for the kernel of the next Debian release too, and a first test there.  Skipped when that kernel
# can't be had (no network).
cd "$(dirname "$0")/../.." || exit
log=$(mktemp)
trap 'rm -f "$log"' EXIT
ver=$(tests/kernels.sh 6.12 2>"$log" | tail -n 1)
[ -n "$ver" ] || ver=$(tests/kernels.sh list 2>/dev/null | grep '^6\.12' | sort -V | tail -n 1)	# offline
if [ -z "$ver" ]; then
	echo "1..0 # SKIP kernel 6.12: $(tail -n 1 "$log")"
	exit 0
fi
if ! make modules KVER="$ver" KDIR= >"$log" 2>&1; then
	echo "not ok 1 - the modules build for $ver"
	grep -E 'error|warning' "$log" | head -n 20 | sed 's/^/# /'
	echo 1..1
	exit 1
fi
cd tests/vm || exit
export KVER=$ver TIER_BUILD=$PWD/../../build/$ver
exec ./vmtap --kernel "$ver" cases/smoke.sh
