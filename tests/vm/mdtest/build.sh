#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# usage: build.sh KVER [MAKE-ARGUMENT...]
# Builds tier-mdtest.ko in build/KVER/mdtest, or in $TIER_BUILD/mdtest: the metadata code of dm-tier, driven by messages.

top=$(realpath "$(dirname "$0")/../../..")
kver=${1:?usage: build.sh KVER [MAKE-ARGUMENT...]}
shift
dir=${TIER_BUILD:-$top/build/$kver}/mdtest
kdir=${KDIR:-/lib/modules/$kver/build}

mkdir -p "$dir" || exit
exec 9>"$dir/.lock"
flock 9
rsync -a --exclude=Kbuild "$top/dm-tier/" "$top/tests/vm/mdtest/" "$dir/" &&
	cp -p "$top/tests/vm/mdtest/Kbuild" "$dir/" || exit
if [ -e "$kdir/Makefile" ]; then
	make -C "$kdir" M="$dir" W=1 CONFIG_DEBUG_INFO_BTF_MODULES= "$@" modules
else
	"$top/tests/kernels.sh" build "$kver" "$dir" W=1 CONFIG_DEBUG_INFO_BTF_MODULES= "$@" modules
fi
