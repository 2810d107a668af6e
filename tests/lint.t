#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The static checks.
exec "$(dirname "$0")/lint.sh" --tap ${TIER_LONG:+--long}
