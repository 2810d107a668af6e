# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=900
#
# Messages, suspend and resume beside I/O that knows what it must read.
# shellcheck source=../io-lib.sh
. "${0%/*}/../io-lib.sh"
load_modules
SECONDS_EACH=${SECONDS_EACH:-${TIER_LONG:+30}}
SECONDS_EACH=${SECONDS_EACH:-3}

modes=(writeback writethrough writearound passthrough)
policies=("lru" "hotspot" "clock2q" "builtin" "seqbypass next lru" "seqbypass next clock2q")
len=$((96 * 2048))

any_range() { echo "$(((RANDOM * 32768 + RANDOM) % (len - 4096))) $((1 + RANDOM % 4096))"; }

do_mode() { msg mode "${modes[RANDOM % 4]}"; }
# shellcheck disable=SC2086
do_policy() { msg policy ${policies[RANDOM % 6]}; }
do_flush() { msg flush; }
do_suspend() { dmsetup suspend --nolockfs t0 && dmsetup resume t0; }
do_noflush() { dmsetup suspend --noflush --nolockfs t0 && dmsetup resume t0; }
do_status() { dmsetup status t0 >/dev/null && dmsetup table t0 >/dev/null; }
do_reset() { msg stats reset; }
# shellcheck disable=SC2046
do_range()
{
	case $((RANDOM % 4)) in
	0) bring_in promote $(any_range) ;;
	1) msg demote $(any_range) ;;
	2) bring_in pin $(any_range) ;;
	3) msg unpin 0 $len ;;
	esac
}
# refused in passthrough, and only there; the mode changes in no other process
bring_in()
{
	if [ "$(st mode)" = passthrough ]; then
		! msg "$@" 2>/dev/null || { echo "$1 in passthrough"; return 1; }
	else
		msg "$@"
	fi
}
# these may be refused where there is dirty data
# shellcheck disable=SC2046
do_invalidate() { msg invalidate $(any_range) 2>/dev/null || :; }
do_set()
{
	case $((RANDOM % 7)) in
	0) msg set fill_sectors auto ;;
	1) msg set fill_sectors $((8 << RANDOM % 8)) ;;
	2) msg set dirty_low $((RANDOM % 20)) && msg set dirty_high $((21 + RANDOM % 70)) ;;
	3) msg set writeback_rate $((RANDOM % 2 * 4096)) ;;
	4) msg set reserve_slots $((RANDOM % 40)) ;;
	5) msg set commit_ms $((10 + RANDOM % 200)) ;;
	6) msg set idle_ms $((RANDOM % 100)) ;;
	esac
}
# the table anew, with another mode and policy, under load
do_reload()
{
	local line

	line=$(tier_line "${modes[RANDOM % 4]}" "${policies[RANDOM % 6]}") &&
		dmsetup load t0 --table "$line" && dmsetup suspend --nolockfs t0 && dmsetup resume t0
}

# beside I/O: these actions, again and again, until the I/O ends
agitate()	# DESCRIPTION ACTION...
{
	local what=$1 pid n=0 bad='' action

	shift
	"$IOSTRESS" run --seconds "$SECONDS_EACH" --seed $RANDOM --granule 8 "$T0" "$WORK/state" >"$WORK/log" 2>&1 &
	pid=$!
	while kill -0 $pid 2>/dev/null; do
		action=${*:1+RANDOM%$#:1}
		"do_$action" >"$WORK/action" 2>&1 || bad+="$action: $(cat "$WORK/action")"$'\n'
		n=$((n + 1))
	done
	wait $pid
	is $? 0 "$what: I/O" || diag <"$WORK/log"
	is "$bad" '' "$what: no message fails"
	diag "$what: $n times, $(head -1 "$WORK/log")"
}

ok "create" new_tier 12 96 8 64k writeback clock2q
agitate "modes" mode
agitate "policies" policy
agitate "flush and set" flush set set status
ok "writeback" msg mode writeback
agitate "ranges" range range invalidate
ok "passthrough" msg mode passthrough
agitate "ranges in passthrough" range range invalidate
ok "writeback again" msg mode writeback
agitate "suspend" suspend noflush
agitate "reload" reload
ok "create" new_tier 12 96 8 16k writeback clock2q
agitate "everything" mode mode policy flush set range range invalidate suspend noflush status reset reload
ok "the tier device" "$IOSTRESS" verify "$T0" "$WORK/state"
ok "writethrough settles" set_mode writethrough
ok "the slow device alone" "$IOSTRESS" verify "$HDD" "$WORK/state"
msg unpin 0 $len
is "$(st health)" rw "health"
ok "remove" dmsetup remove t0
ok "metadata" check_meta
ok "create" tier_up writeback lru
ok "the tier device, created again" "$IOSTRESS" verify "$T0" "$WORK/state"
ok "remove" dmsetup remove t0

done_testing
