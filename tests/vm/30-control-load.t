#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The control interface under load: modes, reload and resize, policies, write back.
cd "$(dirname "$0")" || exit
exec ./vmtap cases/ctl-mode.sh cases/ctl-reload.sh cases/ctl-stop.sh cases/ctl-policy.sh cases/ctl-writeback.sh
