# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=1200
# vmtap: ignore=Buffer I/O error|blk_update_request|I/O error, dev
#
# I/O for a quarter of TIER_STRESS seconds beside errors of both devices that come and go, messages and suspends.
# shellcheck source=../io-lib.sh
. "${0%/*}/../io-lib.sh"
load_modules
TIER_STRESS=${TIER_STRESS:-1200}

what=("ssd write" "ssd read" "ssd flush" "hdd write" "hdd read" "hdd flush" "ssd all" "hdd all")
modes=(writeback writethrough writearound writeback)

ok "create" new_tier 12 96 8 64k writeback clock2q "max_errors 1000000"
"$IOSTRESS" run --seed $RANDOM --errors-ok --granule 8 --seconds $((TIER_STRESS / 4)) "$T0" "$WORK/state" >"$WORK/log" 2>&1 &
pid=$!
while kill -0 $pid 2>/dev/null; do
	f=${what[RANDOM % ${#what[@]}]}
	# shellcheck disable=SC2086
	dev_fail $f
	case $((RANDOM % 5)) in
	0) msg mode "${modes[RANDOM % 4]}" ;;
	1) msg flush ;;
	2) msg promote $((RANDOM * 4)) 4096 ;;
	3) msg demote $((RANDOM * 4)) 4096 ;;
	4) dmsetup suspend --nolockfs t0 && dmsetup resume t0 ;;
	esac >/dev/null 2>&1
	dev_ok "${f% *}"
done
wait $pid
is $? 0 "no wrong data" || diag <"$WORK/log"
diag "$(head -1 "$WORK/log")"
ok "flush" flush_all
ok "both agree" same "$HDD" "$T0"
is "$(st health)" rw "health"
ok "remove" dmsetup remove t0
ok "metadata" check_meta
done_testing
