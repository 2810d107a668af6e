#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Power cuts: a few hundred crash states of random workloads and of scripted transitions.
cd "$(dirname "$0")" || exit
./powercut/build || exit
exec ./vmtap cases/powercut-random.sh cases/powercut-scripts.sh
