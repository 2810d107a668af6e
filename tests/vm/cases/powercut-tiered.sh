# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=400
# vmtap: ignore=Buffer I/O error|blk_update_request|I/O error, dev
#
# Power cuts of a tiered device: a short run with two and three tiers, and the scripts that take the least time.
# powercut-tiered-long.sh has all.
# shellcheck source=../powercut/lib.sh
. "${0%/*}/../powercut/lib.sh"

powercut "two tiers, blocks of 64 KiB" -T 2 -b 64 -n 300 -t 8 -c 20 -s 21
powercut "three tiers, blocks of 256 KiB" -T 3 -b 256 -n 300 -t 8 -c 20 -s 22
powercut "scripts" -T 3 -x -b 64 -k 1 -e 200 -c 50 -t 120 -S "tier-land,tier-pad,tier-discard,tier-swap,\
tier-write-in-move,tier-write-after-switch,tier-discard-in-move,tier-add,tier-remove,tier-settle,tier-flush-errors,tier-flush-errors-pad"
at_least 300

done_testing
