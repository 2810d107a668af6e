# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=7200
#
# writethrough with every policy and block size.
# shellcheck source=../io-lib.sh
. "${0%/*}/../io-lib.sh"
# shellcheck source=../io-matrix.sh
. "${0%/*}/../io-matrix.sh"
load_modules

for policy in lru hotspot clock2q builtin "seqbypass next lru" "seqbypass next clock2q"; do
	for bs in 4k 8k 16k 32k 64k 128k 256k 512k 1m; do
		combination writethrough "$policy" $bs 8
	done
done
done_testing
