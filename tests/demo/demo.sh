#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The host's side of `make demo`: one virtual machine with an emulated hard disk and an SSD, in which
# guest.sh shows what the target does.  Modules, tools and the disk simulator must be built.
#
# exit status: 0 if everything went well and the warm device was clearly faster than the hard disk
set -euo pipefail
cd "$(dirname "$0")/../.."

die()
{
	printf 'demo: %s\n' "$*" >&2
	exit 1
}

: "${TIER_BUILD:?is not set: run make demo}"
for f in "$TIER_BUILD/dm-tier/dm-tier.ko" userspace/dmtier build/hddsim.so; do
	[ -e "$f" ] || die "$f is not there: run make demo"
done

out=$(mktemp -d "${TMPDIR:-/tmp}/tier-demo.XXXXXX")
trap 'rm -rf "$out"' EXIT

# The disk is a 7200 rpm one: 1 to 8 ms for a seek, 8.3 ms a revolution.
rc=0
tests/vm/vmrun --quiet --cpus 1 --mem 1G --timeout 600 --out "$out" --env "TIER_BUILD=$TIER_BUILD" \
	--disk hdd:size=1G,rot=1,hddsim=seek_min_us:1000+seek_max_us:8000+rev_us:8333 \
	--disk ssd:size=512M,rot=0 --disk meta:size=16M,rot=0 \
	tests/demo/guest.sh || rc=$?
case $rc in
0) ;;
1) die "failed, see above" ;;
124) die "the virtual machine took too long" ;;
125) die "the kernel in the virtual machine reported trouble, see above" ;;
*) die "the virtual machine ended with status $rc" ;;
esac
printf 'demo: finished in %d min %02d s\n' $((SECONDS / 60)) $((SECONDS % 60))
