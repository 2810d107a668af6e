#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The guest's side of vmtap: runs the cases given as NAME:TIMEOUT:FILE one after the other and tells
# the host, by lines that begin with @@vmtap, where in the stream each begins and ends.

# shellcheck disable=SC2034	# lib.sh is to define things, not to begin a case
LIB_ONLY=1
# shellcheck source=lib.sh
. "$TIER_TOP/tests/vm/lib.sh"

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
echo "@@vmtap unload"
unload_modules
echo "@@vmtap unloaded $?"
