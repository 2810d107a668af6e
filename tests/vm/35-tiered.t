#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Tiered mode: landing, moves, discards, a full device.
cd "$(dirname "$0")" || exit
./build-iostress || exit
exec ./vmtap cases/tiered.sh
