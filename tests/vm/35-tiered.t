#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Tiered mode: landing, moves, discards, a full device, all sizes; what it does by itself; tiers that fail, or are missing; disks taken over, and back.
cd "$(dirname "$0")" || exit
./build-iostress || exit
exec ./vmtap cases/tiered.sh cases/tiered-sizes.sh cases/tiered-errors.sh cases/tiered-auto.sh cases/tiered-readonly.sh cases/tiered-settle.sh cases/tiered-settle-errors.sh cases/tiered-taken.sh
