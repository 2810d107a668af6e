# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=1500
# vmtap: ignore=Buffer I/O error|blk_update_request|I/O error, dev
#
# Short scenarios, some for each kind of transition, cut after every request of the devices.  `powercut -l`
# lists which is for what.
# shellcheck source=../powercut/lib.sh
. "${0%/*}/../powercut/lib.sh"

powercut "what a power cut costs" -F
# where pages of metadata are more than a sector
powercut "scripts, blocks of 4 KiB" -x -b 4 -S checkpoint,shutdown,grow-fast -k 1 -e 300 -c 50 -t 300
# All but the long ones: journal, the checkpoint again, and variants that differ in one thing; powercut-long.sh has all.
powercut "scripts" -x -b 64 -k 1 -e 200 -c 50 -t 900 -S "write-miss,write-hit,fill-write,write-back,evict-write,discard,\
mode-switch,writethrough,writearound,reuse,unmark,promote,policy-switch,shutdown-wt,held-write,flush-in-commit,\
evict-in-commit,write-in-write-back,fua-past-dirty,discard-clean,recovery,grow-slow,grow-slow-clean,grow-fast-crash,\
shrink-fast,new-fast-stale,new-fast-grown,slow-changed,fast-dies,flush-errors,flush-errors-wt"
at_least 300

done_testing
