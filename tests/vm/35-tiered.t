#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Tiered mode: landing, moves, discards, a full device; tiers added, taken out and grown.
cd "$(dirname "$0")" || exit
./build-iostress || exit
exec ./vmtap cases/tiered.sh cases/tiered-change.sh
