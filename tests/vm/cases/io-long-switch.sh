# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=3600
#
# io-switch for longer.
SECONDS_EACH=240
# shellcheck source=io-switch.sh
. "${0%/*}/io-switch.sh"
