#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The kernel with KCSAN finds data races: the one that dm-tier-trouble.ko can make becomes a failing point.
. "$(dirname "$0")/../vm/self.sh"

trouble_cases race no-race
run ./vmtap "$dir"/{race,no-race}.sh
has '^not ok [0-9]+ - race: no kernel trouble' "a data race"
has '^# .*BUG: KCSAN: data-race in (count|race) .*/ (count|race) ' "is shown"
has '^ok [0-9]+ - no-race: loads' "no race where there is none, the module loads"
hasnt '^not ok [0-9]+ - no-race: ' "and nothing is found"
finish
