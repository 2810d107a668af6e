# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=2400
#
# io-switch for three quarters of TIER_STRESS seconds: I/O beside messages, reloads, suspends.
TIER_STRESS=${TIER_STRESS:-1200}
SECONDS_EACH=$((TIER_STRESS * 3 / 4 / 7 + 1))	# it has seven rounds
# shellcheck source=io-switch.sh
. "${0%/*}/io-switch.sh"
