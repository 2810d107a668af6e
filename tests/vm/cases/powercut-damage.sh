# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=4000
#
# Metadata with flipped bits, zeroed, exchanged and old blocks, noise, a device cut short: the kernel refuses them
# or makes them good, within two seconds, and what starts reads as without the damage.
# shellcheck source=../powercut/lib.sh
. "${0%/*}/../powercut/lib.sh"

if [ -z "${TIER_LONG:-}" ]; then
	powercut "blocks of 64 KiB" -D -b 64 -n 50 -t 100
	powercut "three tiers" -T 3 -D -n 30 -t 60
else
	for b in 4 64 256; do
		powercut "blocks of $b KiB" -D -b $b -n 4000 -t 1200 -s $b
	done
	powercut "three tiers" -T 3 -D -n 4000 -t 1200 -s 3
fi
done_testing
