# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=40000
# vmtap: ignore=Buffer I/O error|blk_update_request|I/O error, dev
#
# 20,000 states and more: every mode at every block size, and all scripts.  TIER_STATES: of each mode at each block
# size (2000); about 20 are judged in a second.
# shellcheck source=../powercut/lib.sh
. "${0%/*}/../powercut/lib.sh"

for b in 4 64 256; do
	for m in writeback writethrough writearound; do
		powercut "$m, blocks of $b KiB" -m $m -b $b -n "${TIER_STATES:-2000}" -t 7200 -c 100 -p 150 -s $((b * 1000 + ${#m}))
	done
done
# at the default block size in more ways
for b in 4 64 256; do
	powercut "scripts, blocks of $b KiB" -x -b $b -k $((b == 64 ? 3 : 1)) -e 60 -r 1 -c 100 -t 6000
done

powercut "what a power cut costs" -F
at_least 20000

done_testing
