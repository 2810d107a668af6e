#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The kernel with KCSAN finds data races: the one that dm-tier-trouble.ko can make becomes a failing point.
cd "$(dirname "$0")" || exit

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
tests=0
failed=0

has()		# REGEX DESCRIPTION
{
	tests=$((tests + 1))
	grep -qE -- "$1" "$dir/log" && { echo "ok $tests - $2"; return; }
	failed=1
	echo "not ok $tests - $2"
}

../debug/build-trouble "${KVER:?is not set}" >"$dir/log" 2>&1 ||
	{ sed 's/^/# /' "$dir/log"; echo "Bail out! dm-tier-trouble does not build"; exit 1; }
for bug in race no-race; do
	cat >"$dir/$bug.sh" <<END
. $PWD/../vm/lib.sh
lib_insmod "\$TIER_BUILD/trouble/dm-tier-trouble.ko"
ok loads [ -d /sys/module/dm_tier_trouble ]
echo $bug >/sys/module/dm_tier_trouble/parameters/make
done_testing
END
done
../vm/vmtap "$dir"/{race,no-race}.sh >"$dir/log" 2>&1
has '^not ok [0-9]+ - race: no kernel trouble' "a data race"
has '^# .*BUG: KCSAN: data-race in (count|race) .*/ (count|race) ' "is shown"
has '^ok [0-9]+ - no-race: loads' "no race where there is none, the module loads"
tests=$((tests + 1))
if grep -q '^not ok [0-9]* - no-race: ' "$dir/log"; then
	failed=1
	echo "not ok $tests - and nothing is found"
else
	echo "ok $tests - and nothing is found"
fi
[ $failed = 0 ] || sed 's/^/# /' "$dir/log"
echo "1..$tests"
exit $failed
