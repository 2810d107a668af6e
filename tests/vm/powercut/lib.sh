# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What the powercut- cases share, on top of ../lib.sh.

# shellcheck source=../lib.sh
. "${BASH_SOURCE[0]%/*}/../lib.sh"

export DMTIER=${TIER_BUILD%/build/*}/userspace/dmtier
POWERCUT=${TIER_BUILD%/*}/powercut
# The C library's choice of `rep movsb` for long copies is the slowest of all on an emulated processor.
export GLIBC_TUNABLES=glibc.cpu.x86_rep_movsb_threshold=0x40000000:glibc.cpu.x86_rep_stosb_threshold=0x40000000

# shellcheck disable=SC2119
load_modules
modprobe nbd nbds_max=5 max_part=0 || fail_case "no nbd"
modprobe dm-switch || fail_case "no dm-switch"
POWERCUT_CACHE=$(lib_null_blk cache 8) || fail_case "no null_blk"
export POWERCUT_CACHE

STATES=0	# judged in this case

# powercut DESCRIPTION OPTION...
powercut()
{
	local desc=$1

	shift
	if "$POWERCUT" "$@" >"$WORK/powercut" 2>&1; then
		pass "$desc: $(sed -n 's/^# powercut: //p' "$WORK/powercut" | paste -sd ';')"
		STATES=$(awk -v n="$STATES" 'match($0, /[0-9]+ states judged/) { n += substr($0, RSTART) } END { print n }' "$WORK/powercut")
	else
		fail "$desc"
		head -n 300 "$WORK/powercut"
		klog | grep tier | tail -n 20 | diag
	fi
}

# at_least STATES	so many were judged, or it was no test
at_least()
{
	[ "$STATES" -ge "$1" ]
	is $? 0 "$STATES states in all, of at least $1"
}
