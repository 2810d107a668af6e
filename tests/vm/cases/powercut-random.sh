# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=400
#
# Power cuts at random moments of random workloads: a short run of each block size.
# shellcheck source=../powercut/lib.sh
. "${0%/*}/../powercut/lib.sh"

powercut "blocks of 4 KiB" -b 4 -n 2000 -t 28 -c 20 -s 11
powercut "blocks of 64 KiB" -b 64 -n 2000 -t 28 -c 20 -s 12
powercut "blocks of 256 KiB" -b 256 -n 2000 -t 28 -c 20 -s 13
at_least 200

done_testing
