# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The memory that dmtier predicts is what the kernel takes.
# shellcheck source=../lib.sh
. "${0%/*}/../lib.sh"
# its red zones and shadows are memory, too
! dmesg | grep -q 'KernelAddressSanitizer initialized' || skip_case "KASAN takes memory beside everything"
DMTIER=${TIER_BUILD%/build/*}/userspace/dmtier
# shellcheck disable=SC2119 # all of them
load_modules

# What the kernel has for itself, in bytes.
taken()
{
	awk '/^(VmallocUsed|SUnreclaim):/ { sum += $2 } END { printf "%d\n", sum * 1024 }' /proc/meminfo
}

compare()	# BLOCK SSD_MB HDD_MB META_MB AT_LEAST AT_MOST (percent)
{
	local before after predicted percent

	setup_devs "$2" "$3" "$4"
	ok "$1: format" "$DMTIER" format --force --block-size "$1" "$SSD" "$HDD" "$META"
	predicted=$("$DMTIER" size --json --block-size "$1" "$2m" "$3m" |
		jq '.memory_core_bytes + .memory_policy_bytes')
	before=$(taken)
	ok "$1: create" "$DMTIER" create --policy clock2q t0 "$SSD" "$HDD" "$META"
	after=$(taken)
	ok "$1: remove" dmsetup remove t0
	ok "$1: it is given back" test $(($(taken) - before)) -lt $((predicted / 10 + 500000))
	percent=$(((after - before) * 100 / predicted))
	diag "$1: predicted $predicted, taken $((after - before))"
	ok "$1: the kernel takes $percent % of the prediction, $5 to $6" test $percent -ge "$5" -a $percent -le "$6"
	drop_devs
}

compare 4k 2048 8192 64 90 110
compare 64k 1024 4096 8 60 150
compare 256k 1024 4096 8 60 150
done_testing
