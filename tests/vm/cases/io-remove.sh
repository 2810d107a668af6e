# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=900
# vmtap: ignore=Buffer I/O error|blk_update_request|I/O error, dev
#
# The device goes away in the middle of everything, as with `dmsetup remove --force`: I/O, and messages, suspends and
# reloads beside it.  It goes within LIMIT seconds, its metadata are right, and when it is there again it has all that
# was acknowledged.
# shellcheck source=../io-lib.sh
. "${0%/*}/../io-lib.sh"
load_modules
LIMIT=60
rounds=${TIER_LONG:+24}
rounds=${rounds:-2}
modes=(writeback writethrough writearound)
policies=("lru" "clock2q" "hotspot" "seqbypass next lru")
len=$((32 * 2048))

# what goes on beside the I/O; once the device is gone these fail
meddle()
{
	local at=$((RANDOM * 4 % (len - 4096)))

	case $((RANDOM % 9)) in
	0) msg mode "${modes[RANDOM % 3]}" ;;
	1) msg policy lru ;;
	2) msg flush ;;
	3) msg promote $at 4096 ;;
	4) msg demote $at 4096 ;;
	5) msg invalidate $at 4096 ;;
	6) dmsetup suspend --nolockfs t0 && dmsetup resume t0 ;;
	7) dmsetup suspend --noflush --nolockfs t0 && dmsetup resume t0 ;;
	8) dmsetup status t0 ;;
	esac >/dev/null 2>&1
	return 0
}

busy() { [ $(($(st write_hits) + $(st write_misses))) -gt 100 ]; }

# goes OPTION...	its table is replaced by one that fails everything; again if another resume came between
goes() { timeout -k 10 $LIMIT dmsetup wipe_table "$@" t0 || timeout -k 10 $LIMIT dmsetup wipe_table "$@" t0; }

for ((i = 1; i <= rounds; i++)); do
	mode=${modes[i % 3]} policy=${policies[i % 4]} bs=$((4 << RANDOM % 5))k
	[ $((i % 2)) = 1 ] && how='' || how=--noflush
	what="$i: $mode, $policy, $bs${how:+, }$how"
	ok "$what" new_tier 12 32 8 $bs "$mode" "$policy" "commit_ms $((10 + RANDOM % 200))" "idle_ms $((RANDOM % 100))"
	"$IOSTRESS" run --errors-ok --seconds 600 --seed $RANDOM --granule 8 "$T0" "$WORK/state" >"$WORK/log" 2>&1 &
	pid=$!
	repeat meddle
	ok "$i: there is I/O" wait_until 60 busy
	sleep "0.$((RANDOM % 10))"
	# shellcheck disable=SC2086
	ok "$i: it goes" goes $how
	sleep 0.2
	stop_repeating
	kill $pid
	wait $pid
	is $? 0 "$i: what was read was right; $(head -n 1 "$WORK/log")" || diag <"$WORK/log"
	ok "$i: remove" timeout -k 10 $LIMIT dmsetup remove --retry t0
	ok "$i: metadata" check_meta
	ok "$i: create" tier_up writeback lru
	ok "$i: nothing is lost" "$IOSTRESS" verify "$T0" "$WORK/state"
	ok "$i: flush" flush_all
	ok "$i: slow and tier device are the same" same "$HDD" "$T0"
done
ok "remove" dmsetup remove t0
done_testing
