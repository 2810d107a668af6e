# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=600
# Table lines that must be refused, with a sentence, leaving no device and no trace on the devices.
# shellcheck source=../lib.sh
. "${0%/*}/../lib.sh"
# shellcheck source=ctl-lib.sh
. "${0%/*}/ctl-lib.sh"
# shellcheck disable=SC2119	# all of them
load_modules
setup_devs 16 32 4
D="$SSD $HDD $META"
LEN=65536
ok "format" format_set --block-size 64k
before=$(sums)

# bad DESCRIPTION REGEX "WORDS" [LEN] [DMSETUP OPTION...]
bad()
{
	local desc=$1 regex=$2 words=$3 len=${4:-$LEN}

	shift 3
	[ $# = 0 ] || shift
	refused "$desc" "$regex" dmsetup create "$@" bad --table "0 $len tier $words"
	[ ! -b /dev/mapper/bad ] || { fail "$desc: no device is left"; dmsetup remove bad; }
}

bad "no words" "fast device is missing" ""
bad "only the fast device" "slow device is missing" "$SSD"
bad "no metadata device" "metadata device is missing" "$SSD $HDD"
bad "no block size" "block size is missing" "$D"
bad "no number of features" "number of features is missing" "$D 128"
bad "no policy" "policy is missing" "$D 128 0"
bad "no number of policy arguments" "number of policy arguments is missing" "$D 128 0 lru"
bad "fewer features than announced" "number of features is 9, but only 3 words" "$D 128 9 writeback lru 0"
bad "policy taken for a feature" "unknown feature.*lru" "$D 128 2 writeback lru 0"
bad "fewer policy arguments than announced" "policy arguments is 2, but only 1" "$D 128 0 clock2q 2 small_percent"
bad "an extra word" "extra word.*surplus" "$D 128 0 lru 0 surplus"
bad "an extra word, nothing announced" "extra word.*small_percent" "$D 128 0 clock2q 0 small_percent 7"

for n in abc -128 +128 128k 0x80 12.8 18446744073709551616 99999999999999999999999 4294967424 0 4 127 129 4096; do
	bad "block size $n" "block size ${n/+/.} is not a power of two" "$D $n 0 lru 0"
done
bad "block size other than formatted" "block size 64 in the table line, but 128" "$D 64 0 lru 0"
for n in abc -1 0x1 18446744073709551616; do
	bad "number of features $n" "number of features.*$n" "$D 128 $n writeback lru 0"
	bad "number of policy arguments $n" "number of policy arguments.*$n" "$D 128 0 lru $n"
done

bad "unknown feature" "unknown feature.*quick" "$D 128 1 quick lru 0"
bad "two modes" "two modes are given, writeback and passthrough" "$D 128 2 writeback passthrough lru 0"
bad "tiered mode with small blocks" "block size 64 is too small for tiered mode" "$D 64 1 tiered lru 0"
bad "tier_dev in a cache" "tier_dev belongs to tiered mode" "$D 128 2 tier_dev /dev/x lru 0"
bad "a tier given twice" "is given twice" "$D 128 3 tiered tier_dev $SSD lru 0"
bad "a cache's tunable in tiered mode" "dirty_high belongs to the cache modes" "$D 128 3 tiered dirty_high 60 lru 0"
bad "accept_new_fast in tiered mode" "accept_new_fast belongs to the cache modes" "$D 128 2 tiered accept_new_fast lru 0"
bad "a feature twice" "no_discard_passdown is given twice" "$D 128 2 no_discard_passdown no_discard_passdown lru 0"
bad "a tunable twice" "idle_ms is given twice" "$D 128 4 idle_ms 1 idle_ms 1 lru 0"
bad "a tunable without value" "dirty_high has no value" "$D 128 1 dirty_high lru 0"
for t in "dirty_high 100" "dirty_high 0" "dirty_low 99" "dirty_low -1" "fill_sectors 3" "fill_sectors 4096" \
	"writeback_rate 4294967296" "writeback_rate x" "commit_ms 9" "max_errors 0" "reserve_slots 1048577" \
	"idle_ms 3600001"; do
	bad "tunable $t" "${t% *} .*${t#* }" "$D 128 2 $t lru 0"
done
bad "watermarks the wrong way round" "dirty_low 30 is not below dirty_high 30" \
	"$D 128 4 dirty_high 30 dirty_low 30 lru 0"

bad "unknown policy" "unknown policy.*nosuch.*default, lru, hotspot, seqbypass, clock2q" "$D 128 0 nosuch 0"
bad "a policy that is no name" "not a name" "$D 128 0 ../../x 0"
bad "an endless policy name" "not a name" "$D 128 0 aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd 0"
bad "policy argument without value" "small_percent.*no value" "$D 128 0 clock2q 1 small_percent"
bad "unknown policy argument" "lru has no tunable.*colour" "$D 128 0 lru 2 colour 5"
bad "bad value of a policy argument" "bad value.*-3.*read_cutoff_sectors" "$D 128 0 seqbypass 2 read_cutoff_sectors -3"
bad "next behind a policy that is no filter" "lru is no filter" "$D 128 0 lru 2 next clock2q"
bad "next without a name" "name must follow" "$D 128 0 seqbypass 1 next"
bad "a bad policy behind a filter" "unknown policy.*nosuch" "$D 128 0 seqbypass 2 next nosuch"
bad "too many filters" "more than 4 policies" \
	"$D 128 0 seqbypass 8 next seqbypass next seqbypass next seqbypass next lru"
bad "arguments of the built-in policy" "builtin" "$D 128 0 builtin 2 colour 5"

bad "no such device" "slow device /dev/mapper/none can't be opened" "$SSD /dev/mapper/none $META 128 0 lru 0"
bad "a character device" "fast device /dev/null can't be opened" "/dev/null $HDD $META 128 0 lru 0"
: >"$WORK/file"
bad "a file" "metadata device.*can't be opened" "$SSD $HDD $WORK/file 128 0 lru 0"
bad "fast and slow the same" "$SSD is given twice" "$SSD $SSD $META 128 0 lru 0"
bad "fast and metadata the same" "$SSD is given twice" "$SSD $HDD $SSD 128 0 lru 0"
bad "slow and metadata the same" "$HDD is given twice" "$SSD $HDD $HDD 128 0 lru 0"
number=$(printf '%d:%d' "$(stat -L -c 0x%t "$HDD")" "$(stat -L -c 0x%T "$HDD")")
bad "the same by number" "fast and the slow device are the same" "$number $HDD $META 128 0 lru 0"
ln -s "$HDD" "$WORK/link"
bad "the same by a link" "slow and the metadata device are the same" "$SSD $HDD $WORK/link 128 0 lru 0"

bad "longer than the slow device" "table is 65544 sectors long, the slow device has only 65536" "$D 128 0 lru 0" 65544
bad "much longer" "slow device has only 65536" "$D 128 0 lru 0" 1099511627776
bad "shorter than formatted" "table is 65528 sectors long, but the metadata are for 65536" "$D 128 0 lru 0" 65528

# a disk and its partition
disk=$(lib_null_blk part 65536)
if addpart "$disk" 1 2048 16384 && part=$(lsblk -nro PATH,TYPE "$disk" | awk '$2 == "part" { print $1 }') && wait_until 5 test -b "$part"; then
	bad "a disk and its partition" "slow device $disk can't be opened|fast and the slow device are the same or overlap" "$part $disk $META 128 0 lru 0"
	delpart "$disk" 1
else
	fail "a partition for the test"
fi

# read-only
for d in ssd:fast hdd:slow meta:metadata; do
	blockdev --setro "/dev/mapper/${d%:*}"
	bad "the ${d#*:} device is read-only" "${d#*:} device /dev/mapper/${d%:*} is read-only|${d#*:} device.*can't be opened" \
		"$D 128 0 lru 0"
	blockdev --setrw "/dev/mapper/${d%:*}"
done
dmsetup create --readonly rossd --table "0 32768 linear $SSD 0"
bad "a read-only device below" "fast device /dev/mapper/rossd .*(read-only|can't be opened)" \
	"/dev/mapper/rossd $HDD $META 128 0 lru 0"
dmsetup remove rossd
bad "created read-only" "a cache needs a table that can be written: only a tiered device" "$D 128 0 lru 0" $LEN --readonly
bad "a missing device" "slow device - can't be opened" "$SSD - $META 128 0 lru 0"

# 4096-byte sectors and an odd length
DEV_LBS=4096 new_dev big 32
refused "a length that is no multiple of the logical block" "multiples of 8 sectors|not aligned" \
	dmsetup create bad --table "0 65532 tier $SSD /dev/mapper/big $META 128 0 lru 0"
ok "no device is left" no_dev bad

refused_done
is "$(sums | head -2)" "$(head -2 <<<"$before")" "the data devices are as they were"

# two targets of one table on the same devices: the second can't start
klog_mark
nok "the same devices twice in one table" dmsetup create bad --table "0 $LEN tier $D 128 0 lru 0
$LEN $LEN tier $D 128 0 lru 0"
like "$(klog)" "in use by another active tier device" "the log says so"
ok "no device is left" no_dev bad

ok "the metadata are good" "$DMTIER" check "$META"
ok "the right line is taken" dmsetup create t0 --table "0 $LEN tier $D 128 0 lru 0"
ok "and works" wr /dev/mapper/t0 0 4
ok "remove" stop t0
done_testing
