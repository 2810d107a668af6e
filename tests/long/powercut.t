#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Power cuts: 20,000 crash states and more; the time to start of larger caches.
cd "$(dirname "$0")/../vm" || exit
./powercut/build || exit
exec env TIER_LONG=1 ./vmtap --cpus 1 cases/powercut-long.sh cases/powercut-tiered-long.sh cases/powercut-load.sh
