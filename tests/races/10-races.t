#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What runs at once most, on a kernel that looks for data races.
cd "$(dirname "$0")/../vm" || exit
./build-iostress || exit
exec ./vmtap cases/smoke.sh cases/io-race.sh cases/io-switch.sh
