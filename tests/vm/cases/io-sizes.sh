# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=900
#
# Sizes that are no multiple of anything, logical blocks of 512 and 4096 bytes, a target that does not
# begin at 0, a fast device of a few slots.
# shellcheck source=../io-lib.sh
. "${0%/*}/../io-lib.sh"
load_modules

# DESCRIPTION BLOCK-SIZE LOGICAL-BLOCK [FIRST-SECTOR]	t0 is there: I/O up to its last sector, in two modes
exercise()
{
	local what=$1 lbs=$3 first=${4:-0} mode

	for mode in writeback writethrough; do
		ok "$what: $mode" msg mode $mode
		ok "$what: $mode: stress" "$IOSTRESS" run --seconds 2 --seed $RANDOM --lbs "$lbs" --hot 50 \
			--max 256 --first "$first" --granule "$(st granule)" "$T0" "$WORK/state"
		[ $mode = writeback ] || continue
		ok "$what: flush" flush_all
		ok "$what: slow device" "$IOSTRESS" verify --sectors "$(($(blockdev --getsz "$T0") - first))" "$HDD" "$WORK/state"
	done
	ok "$what: settles" set_mode writethrough
	ok "$what: remove" dmsetup remove t0
	ok "$what: metadata" check_meta
}

ok "odd length: create" new_tier 6 48003s 8 64k writeback lru
is "$(blockdev --getsz "$T0")" 48003 "odd length: all of it is there"
is "$(blockdev --getss "$T0")" 512 "odd length: logical blocks"
exercise "odd length" 64k 512
ok "odd length: slow device at last" "$IOSTRESS" verify "$HDD" "$WORK/state"

# the last block has one sector
ok "one sector more: create" new_tier 6 $((40 * 2048 + 1))s 8 1m writeback clock2q
exercise "one sector more" 1m 512
ok "one sector more: slow device at last" "$IOSTRESS" verify "$HDD" "$WORK/state"

for sizes in "4096 4096" "4096 512" "512 4096"; do
	read -r s h <<<"$sizes"
	what="logical blocks $s and $h"
	dmsetup remove t0 2>/dev/null
	drop_devs
	DEV_LBS=$s ok "$what: ssd" new_dev ssd 6
	DEV_LBS=$h ok "$what: hdd" new_dev hdd 48008s
	ok "$what: meta" new_dev meta 8
	rm -f "$WORK/state"
	ok "$what: format" tier_format --block-size 16k
	ok "$what: create" tier_up writeback hotspot
	is "$(blockdev --getss "$T0")" 4096 "$what: 4096 is the target's"
	exercise "$what" 16k 4096
	ok "$what: slow device at last" "$IOSTRESS" verify --lbs 4096 "$HDD" "$WORK/state"
done

# a slow device with a rest that the logical block of the fast one can't reach
drop_devs
DEV_LBS=4096 ok "unfit: ssd" new_dev ssd 6
ok "unfit: hdd" new_dev hdd 48003s
ok "unfit: meta" new_dev meta 8
if tier_format --block-size 16k 2>"$WORK/err" && line=$(tier_line writeback lru 2>"$WORK/err"); then
	if [ "$(cut -d' ' -f2 <<<"$line")" = 48003 ]; then
		klog_mark
		nok "unfit: refused" dmsetup create t0 --table "$line"
		like "$(klog)" "multiple" "unfit: the log says why"
	else
		is "$(cut -d' ' -f2 <<<"$line")" 48000 "unfit: the table line leaves the rest out"
	fi
else
	like "$(cat "$WORK/err" "$WORK/format")" "4096|logical" "unfit: the tool says why"
fi

# a few slots
ok "tiny: create" new_tier 2560s 24 8 64k writeback builtin
diag "tiny: $(st used) slots"
exercise "tiny" 64k 512
ok "tiny: slow device at last" "$IOSTRESS" verify "$HDD" "$WORK/state"
ok "one slot: create" new_tier 4096s 24 8 1m writeback lru
diag "one slot: $(st used) slots"
exercise "one slot" 1m 512
ok "one slot: slow device at last" "$IOSTRESS" verify "$HDD" "$WORK/state"

# behind another target
fresh 6 48003s 8 --block-size 64k
line=$(tier_line writeback clock2q)
ok "offset: create" dmsetup create t0 --table "$(printf '0 999 zero\n999 %s' "${line#0 }")"
# messages go to the target at that sector, status has a line for each
msg() { dmsetup message t0 999 "$@"; }
st()
{
	dmsetup status --noflush --target tier t0 | sed '/ zero/d' | awk -v want="$1" '
		{ if (want == "granule") { print $9; exit } if (want == "settled") { print $6; exit }
		  if (want == "dirty") { print $13; exit }
		  for (i = 15; i < NF; i++) if ($i == want) { print $(i + 1); exit } }'
}
exercise "offset" 64k 512 999
ok "offset: slow device at last" "$IOSTRESS" verify "$HDD" "$WORK/state"

done_testing
