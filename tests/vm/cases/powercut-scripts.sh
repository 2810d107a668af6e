# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=600
#
# Short scenarios, one for each kind of transition, cut after every request of the devices.
# shellcheck source=../powercut/lib.sh
. "${0%/*}/../powercut/lib.sh"

powercut "scripts" -x -b 64 -k 2 -e 150 -c 50 -t 100

done_testing
