#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Failing allocations; skipped on kernels without fault injection, which are all but the debug kernel.
cd "$(dirname "$0")" || exit
./build-iostress && ./build-failnth || exit
exec ./vmtap --cpus 1 cases/nomem.sh
