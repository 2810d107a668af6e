#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# File systems, odd and large sizes, flushes, discards, errors.
cd "$(dirname "$0")" || exit
./build-iostress || exit
exec ./vmtap --cpus 1 cases/io-flush.sh cases/io-discard.sh cases/io-errors.sh cases/io-faults.sh cases/io-sizes.sh cases/io-large.sh cases/io-fs.sh
