#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The power-cut harness catches every mutant of the module; they are built beside the modules.
cd "$(dirname "$0")/../vm" || exit
kver=$(basename "${TIER_BUILD:?is not set}")
dir=${TIER_BUILD%/*}/mutants
mkdir -p "$dir/$kver" || exit
rsync -a --delete ../../Kbuild ../../dm-tier ../../policy "$dir/$kver/" || exit
powercut/mutate "$dir/$kver" || exit
make -s -C "/lib/modules/$kver/build" M="$dir/$kver" CONFIG_DEBUG_INFO_BTF_MODULES= modules >"$dir/log" 2>&1 || {
	sed 's/^/# /' "$dir/log"
	exit 1
}
TIER_BUILD=$dir/$kver
export TIER_BUILD
powercut/build || exit
exec ./vmtap --cpus 1 cases/powercut-mutants.sh
