# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=40000
# vmtap: ignore=Buffer I/O error|blk_update_request|I/O error, dev
#
# 20,000 states and more: every mode at every block size, and the scripts in full.
# shellcheck source=../powercut/lib.sh
. "${0%/*}/../powercut/lib.sh"

for b in 4 64 256; do
	for m in writeback writethrough writearound; do
		powercut "$m, blocks of $b KiB" -m $m -b $b -n 5000 -t 3600 -c 100 -p 100 -s $((b * 1000 + ${#m}))
	done
	powercut "scripts, blocks of $b KiB" -x -b $b -k 4 -e 20 -r 2 -c 100 -t 6000
done

powercut "what a power cut costs" -F
at_least 20000

done_testing
