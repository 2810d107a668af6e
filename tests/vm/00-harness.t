#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The virtual machine and lib.sh are what the other tests take them for.
cd "$(dirname "$0")" || exit
exec ./vmtap --cpus 1 cases/harness-tap.sh cases/harness-devices.sh
