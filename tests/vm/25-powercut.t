#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Power cuts: crash states of random workloads and of scripted transitions, some hundreds of each; the time to start.
# Damaged metadata.
cd "$(dirname "$0")" || exit
./powercut/build || exit
# what all states of damage hold needs more memory
# shellcheck disable=SC2086
exec ./vmtap --cpus 1 ${TIER_LONG:+--mem 6G} cases/powercut-random.sh cases/powercut-scripts.sh cases/powercut-tiered.sh cases/powercut-damage.sh cases/powercut-load.sh
