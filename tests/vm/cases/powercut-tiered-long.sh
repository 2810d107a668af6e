# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=40000
# vmtap: ignore=Buffer I/O error|blk_update_request|I/O error, dev
#
# Power cuts of a tiered device: random lives of two to four tiers, and all scripts in full.
# shellcheck source=../powercut/lib.sh
. "${0%/*}/../powercut/lib.sh"

for b in 64 256; do
	for n in 2 3 4; do
		powercut "$n tiers, blocks of $b KiB" -T $n -b $b -n 3000 -t 2400 -c 100 -p 100 -s $((b * 1000 + n))
	done
	powercut "scripts, blocks of $b KiB" -T 3 -x -b $b -k 4 -e 20 -r 2 -c 100 -t 6000
done
at_least 10000

done_testing
