#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The control interface: table lines, metadata that don't fit, messages and status, dmtier.
cd "$(dirname "$0")" || exit
exec ./vmtap --cpus 1 cases/ctl-table.sh cases/ctl-metadata.sh cases/ctl-newfast.sh cases/ctl-message.sh cases/ctl-dmtier.sh cases/tiered-dmtier.sh cases/tiered-change.sh
