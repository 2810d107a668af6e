#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The debug kernel finds bugs: each kind that dm-tier-trouble.ko can make becomes a failing point.
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

./build-trouble "${KVER:?is not set}" >"$dir/log" 2>&1 || { sed 's/^/# /' "$dir/log"; echo "Bail out! dm-tier-trouble does not build"; exit 1; }

# lockdep gives up after its first report, so those two have machines of their own
bugs="use-after-free out-of-bounds sleep-in-atomic list shift free-active lock-order leak"
for bug in $bugs; do
	cat >"$dir/$bug.sh" <<END
. $PWD/../vm/lib.sh
lib_insmod "\$TIER_BUILD/trouble/dm-tier-trouble.ko"
ok loads [ -d /sys/module/dm_tier_trouble ]
echo $bug >/sys/module/dm_tier_trouble/parameters/make
done_testing
END
done
sed -i '1i # vmtap: alone' "$dir/lock-order.sh" "$dir/leak.sh" "$dir/list.sh"
echo 'pass fine; done_testing' | cat <(echo ". $PWD/../vm/lib.sh") - >"$dir/good.sh"

../vm/vmtap "$dir"/{use-after-free,out-of-bounds,sleep-in-atomic,shift,free-active,good,list,lock-order,leak}.sh >"$dir/log" 2>&1
has '^not ok [0-9]+ - use-after-free: no kernel trouble' "a use after free"
has '^# .*KASAN: .*use-after-free in use_after_free' "is shown"
has '^not ok [0-9]+ - out-of-bounds: no kernel trouble' "an access behind an allocation"
has '^# .*KASAN: .*out-of-bounds in out_of_bounds' "is shown"
has '^not ok [0-9]+ - sleep-in-atomic: no kernel trouble' "sleeping with a spinlock held"
has '^# .*BUG: .*(scheduling while atomic|sleeping function)' "is shown"
has '^not ok [0-9]+ - list: (no kernel trouble|the machine died)' "a list that is corrupted"
has '^# .*list_add (corruption|double add)' "is shown"
has '^not ok [0-9]+ - shift: no kernel trouble' "a shift that is too large"
has '^# .*UBSAN: shift-out-of-bounds' "is shown"
has '^not ok [0-9]+ - free-active: no kernel trouble' "freeing an active timer"
has '^# .*ODEBUG: free active' "is shown"
has '^not ok [0-9]+ - lock-order: no kernel trouble' "locks taken in two orders"
has '^# .*possible (circular|recursive) locking' "is shown"
has '^not ok [0-9]+ - lockdep has looked to the end' "a lockdep that looks no more"
has '^not ok [0-9]+ - no memory leaks$' "a leak"
has '^# unreferenced object' "is shown"
has '^ok [0-9]+ - good: fine' "a good case"
has '^ok [0-9]+ - no memory leaks$' "no leak where there is none"
has '^ok [0-9]+ - lockdep has looked to the end$' "and a lockdep that looked on"
[ $failed = 0 ] || sed 's/^/# /' "$dir/log"
echo "1..$tests"
exit $failed
