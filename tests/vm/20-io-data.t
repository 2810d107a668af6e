#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The data path: every byte in every mode, beside messages, and where writes meet.
cd "$(dirname "$0")" || exit
./build-iostress || exit
exec ./vmtap cases/io-modes.sh cases/io-switch.sh cases/io-race.sh cases/io-remove.sh cases/io-zeroes.sh
