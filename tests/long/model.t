#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The models, with the big configurations too: some minutes, some GiB of memory.
cd "$(dirname "$0")/../unit" || exit
make -s test-model.t >&2 || exit
exec ./test-model.t --big
