# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The test harness itself: TAP helpers, kernel, guest.

# shellcheck source=../lib.sh
. "${0%/*}/../lib.sh"

# A failing point of its own, in a subshell, so that it does not count.
not_ok() { ! ("$@" >"$WORK/out") && grep -q '^not ok' "$WORK/out"; }

ok "ok" true
nok "nok" false
is "a b" "a b" "is"
isnt a b "isnt"
like "some text" '^so.e' "like"
unlike "some text" '^text' "unlike"
ok "ok notices a failure" not_ok ok x false
ok "nok notices a success" not_ok nok x true
ok "nok does not take a crash for a failure" not_ok nok x sh -c 'kill -SEGV $$'
ok "is notices a difference" not_ok is a b x
ok "isnt notices the same" not_ok isnt a a x
ok "like notices a mismatch" not_ok like a b x
ok "unlike notices a match" not_ok unlike a a x
skip "skip" "to see that it works"
pass "a # in a description"
ok "wait_until" wait_until 5 true
nok "wait_until gives up" wait_until 0 false

kmsg "harness-tap: one"
like "$(klog)" "harness-tap: one" "klog"
klog_mark
kmsg "harness-tap: two"
unlike "$(klog)" "harness-tap: one" "klog_mark"
like "$(klog)" "harness-tap: two" "klog after klog_mark"

is "$(uname -r)" "$(basename "$TIER_BUILD")" "the kernel is the one of the modules"
like "$(cat /proc/sys/kernel/tainted)" '^[0-9]+$' "/proc"
for dir in /sys/block /sys/kernel/debug/bdi /sys/kernel/tracing/events /dev/mapper /dev/fd /dev/pts; do
	ok "$dir" ls $dir
done
ok "configfs" grep -q '^configfs /sys/kernel/config ' /proc/mounts
is "${DM_DISABLE_UDEV:-}" 1 "DM_DISABLE_UDEV"
ok "the source tree" test -e "$TIER_TOP/tests/vm/lib.sh"
ok "the root can be written to" touch /etc/harness-tap
ok "TMPDIR can be written to" touch "$TMPDIR/harness-tap"
nok "no device is left of another case" sh -c 'dmsetup ls | grep -v "^No devices"'
done_testing
