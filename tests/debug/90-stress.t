#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# TIER_STRESS seconds of I/O beside everything else.
cd "$(dirname "$0")/../vm" || exit
./build-iostress || exit
exec ./vmtap cases/stress.sh cases/stress-errors.sh
