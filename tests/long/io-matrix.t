#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Every mode with every policy and block size; file systems and messages for longer.
cd "$(dirname "$0")/../vm" || exit
./build-iostress || exit
exec ./vmtap cases/io-long-*.sh
