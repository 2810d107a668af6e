# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced by the tests of the tests: they make cases, let vmtap or vmrun run them, and look at what it printed.
# They stay in the directory that this file is in.
cd "$(dirname "${BASH_SOURCE[0]}")" || exit

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
tests=0
failed=0

run()		# COMMAND..., whose output is looked at after it
{
	shown=
	"$@" >"$dir/log" 2>&1
}

# The output is shown with the first point that fails.
point()		# RESULT DESCRIPTION
{
	tests=$((tests + 1))
	[ "$1" = 0 ] && { echo "ok $tests - $2"; return; }
	failed=1
	echo "not ok $tests - $2"
	[ -n "$shown" ] || sed 's/^/# /' "$dir/log"
	shown=1
}

has()		# REGEX DESCRIPTION
{
	grep -qE -- "$1" "$dir/log"
	point $? "$2"
}

hasnt()		# REGEX DESCRIPTION
{
	! grep -qE -- "$1" "$dir/log"
	point $? "$2"
}

case_file()	# NAME, body on stdin
{
	{ echo ". $PWD/lib.sh"; cat; } >"$dir/$1.sh"
}

# Cases that each have dm-tier-trouble.ko, built for $KVER, make the bug that they are named after.
trouble_cases()	# BUG...
{
	local bug

	run ../debug/build-trouble "${KVER:?is not set}" ||
		{ sed 's/^/# /' "$dir/log"; echo "Bail out! dm-tier-trouble does not build"; exit 1; }
	for bug; do
		case_file "$bug" <<END
lib_insmod "\$TIER_BUILD/trouble/dm-tier-trouble.ko"
ok loads [ -d /sys/module/dm_tier_trouble ]
echo $bug >/sys/module/dm_tier_trouble/parameters/make
done_testing
END
	done
}

finish()
{
	echo "1..$tests"
	exit $failed
}
