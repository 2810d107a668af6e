#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Power cuts: 20,000 crash states and more.
cd "$(dirname "$0")/../vm" || exit
./powercut/build || exit
exec ./vmtap cases/powercut-long.sh
