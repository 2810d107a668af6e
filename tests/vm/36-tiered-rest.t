#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Tiered mode: what it does by itself; disks taken over, and back.
cd "$(dirname "$0")" || exit
./build-iostress || exit
exec ./vmtap cases/tiered-auto.sh cases/tiered-settle.sh cases/tiered-settle-errors.sh cases/tiered-taken.sh
