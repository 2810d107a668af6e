#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The shortest way through, and the metadata code by itself.
cd "$(dirname "$0")" || exit
exec ./vmtap --cpus 1 cases/smoke.sh cases/memory.sh cases/metadata.sh
