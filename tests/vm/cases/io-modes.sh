# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=900
#
# Every mode keeps every byte, also on the slow device alone, with policies and block sizes taken in turn;
# tests/long runs the whole matrix.
# shellcheck source=../io-lib.sh
. "${0%/*}/../io-lib.sh"
# shellcheck source=../io-matrix.sh
. "${0%/*}/../io-matrix.sh"
load_modules

combination writeback "clock2q" 64k
combination writeback "seqbypass next hotspot" 4k
combination writethrough "lru" 256k
combination writearound "seqbypass next lru" 16k
combination passthrough "builtin" 1m

done_testing
