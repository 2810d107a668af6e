#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# No data race where much is done at once; stress takes TIER_STRESS seconds.
cd "$(dirname "$0")/../vm" || exit
./build-iostress || exit
exec ./vmtap cases/io-race.sh cases/io-switch.sh cases/tiered.sh cases/ctl-writeback.sh cases/stress.sh
