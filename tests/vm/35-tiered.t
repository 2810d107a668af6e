#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Tiered mode: landing, moves, discards, a full device; tiers that fail, or are missing.
cd "$(dirname "$0")" || exit
./build-iostress || exit
exec ./vmtap cases/tiered.sh cases/tiered-sizes.sh cases/tiered-errors.sh cases/tiered-readonly.sh
