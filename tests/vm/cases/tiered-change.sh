# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=900
# vmtap: ignore=Buffer I/O error|I/O error, dev
#
# Tiers added, emptied and taken out, reordered and grown, by reload under load and by a new start.
# shellcheck source=../tiered-lib.sh
. "${0%/*}/../tiered-lib.sh"
load_modules
head -c 64M /dev/urandom >"$WORK/noise"

# line LENGTH DEV0 DEV1 [DEV...] [-- FEATURE...]	a table line by hand
line()
{
	local len=$1 d0=$2 d1=$3 f=() w

	shift 3
	while [ $# -gt 0 ] && [ "$1" != -- ]; do f+=(tier_dev "$1"); shift; done
	[ $# = 0 ] || shift
	f+=(migration off)
	for w; do f+=("$w"); done
	echo "0 $len tier $d0 $d1 $META 128 $((${#f[@]} + 1)) tiered ${f[*]} lru 0"
}
reload() { dmsetup load t0 --table "$(line "$@")" && dmsetup suspend --nolockfs t0 && dmsetup resume t0; }
tiers() { printf '%s\n' "$@" | grep . >"$WORK/tiers"; true; }
right() { cmp -n $((300 * 65536)) "$T0" "$WORK/noise"; }
empty() { [ "$(tier "$1" used)" = 0 ]; }
log() { klog | grep -cF -- "$1"; }

ok "create two tiers" new_tiers 64k "9 17 8 9"
ok "and a third device" test -b /dev/mapper/tier1
# the set was formatted with three: format anew with two
ok "remove" dmsetup remove t0
wipe() { dd if=/dev/zero of="$1" bs=1M oflag=direct status=none 2>/dev/null; blockdev --flushbufs "$1"; }
wipe /dev/mapper/tier1
tiers
ok "format" "$DMTIER" format --force --mode tiered --block-size 64k "$SSD" "$HDD" "$META"
ok "create" tiers_up lru "migration off"
LEN=$(blockdev --getsz "$T0")
ok "data" dd if="$WORK/noise" of="$T0" bs=64k count=300 oflag=direct status=none

# ---- add ----
NEW=/dev/mapper/tier1
nok "a blank device is not taken in just so" dmsetup load t0 --table "$(line "$LEN" "$SSD" "$HDD" "$NEW")"
is "$(log "accept_new_tier takes it in")" 1 "the log says how"
ok "it still works" right
"$IOSTRESS" run --seconds 6 --seed $RANDOM --granule 8 --first $((310 * 128)) --sectors 4096 "$T0" "$WORK/state" >"$WORK/log" 2>&1 &
pid=$!
more=$((LEN + 7 * 16 * 128))
ok "add a tier, slower than the others, under load" reload "$more" "$SSD" "$HDD" "$NEW" -- accept_new_tier
is "$(blockdev --getsz "$T0")" $more "the device is longer"
is "$(tier 2 slots) $(tier 2 used)" "128 0" "it is there, empty"
ok "move some to it" msg move 2 0 2560
ok "ends" wait_until 30 no_jobs
comes_to 20 "they are there" tier 2 used
wait $pid
is $? 0 "the load is right" || diag <"$WORK/log"
ok "all is right" right

# ---- reorder ----
ok "it becomes the first" reload "$more" "$NEW" "$SSD" "$HDD"
is "$(tier 0 slots) $(tier 0 used)" "128 20" "with what is on it"
ok "all is right" right
ok "remove" dmsetup remove t0
tiers "$HDD"; saved=$HDD HDD=$SSD SSD=$NEW
ok "metadata" check_tiers
ok "create" tiers_up lru "migration off"
ok "all is right" right

# ---- take out ----
ok "remove" dmsetup remove t0
nok "without it" dmsetup create t0 --table "$(line "$more" "$HDD" "$saved")"
is "$(log "only one that was emptied")" 1 "the log says why"
ok "create" tiers_up lru "migration off"
ok "empty it, slowly" msg set migration_rate 128
ok "begin" msg evacuate 0
ok "a restart meanwhile" dmsetup remove t0
nok "nor now, while it is being emptied" dmsetup create t0 --table "$(line "$more" "$HDD" "$saved")"
[ ! -b "$T0" ] || dmsetup remove t0
ok "create" tiers_up lru "migration off"
ok "goes on and ends" wait_until 60 empty 0
is "$(tier 0 state)" empty "says the status"
ok "take it out" reload "$more" "$HDD" "$saved"
is "$(tier 0 slots)" 128 "the other one is the first now"
ok "all is right" right
ok "remove" dmsetup remove t0
tiers; SSD=$HDD HDD=$saved
ok "metadata" check_tiers
ok "create" tiers_up lru "migration off"
ok "all is right" right
ok "and the load" "$IOSTRESS" verify --first $((310 * 128)) --sectors 4096 "$T0" "$WORK/state"

# ---- grow ----
ok "remove" dmsetup remove t0
grow() { dmsetup suspend --nolockfs "$1" && dmsetup load "$1" --table "$2" && dmsetup resume "$1"; }
ok "a device of 5 MiB" new_dev small 9
ok "format" "$DMTIER" format --force --mode tiered --block-size 64k /dev/mapper/small "$HDD" "$META"
SSD=/dev/mapper/small
ok "create" tiers_up lru "migration off"
LEN=$(blockdev --getsz "$T0")
ok "data" dd if="$WORK/noise" of="$T0" bs=64k count=300 oflag=direct status=none
read -r _ _ _ dev _ < <(dmsetup table small)
ok "stop" dmsetup remove t0
nok "a shorter first tier" sh -c "dmsetup suspend small && dmsetup load small --table '0 16384 linear $dev 0' && dmsetup resume small && dmsetup create t0 --table '$(line "$LEN" "$SSD" "$HDD")'"
[ ! -b "$T0" ] || dmsetup remove t0
ok "as long as it was" grow small "0 18432 linear $dev 0"
ok "create" tiers_up lru "migration off"
ok "all is right" right
ok "remove" dmsetup remove t0

# ---- tiers grow while the device is in use, the fastest and the last one ----
hdd=${HDD##*/}
read -r _ full _ back _ < <(dmsetup table "$hdd")
ok "a shorter first tier" grow small "0 14336 linear $dev 0"
ok "and a shorter last one" grow "$hdd" "0 $((full - 4096)) linear $back 0"
ok "format" "$DMTIER" format --force --mode tiered --block-size 64k "$SSD" "$HDD" "$META"
ok "create" tiers_up lru "migration off"
LEN=$(blockdev --getsz "$T0")
slots=$(tier 0 slots) more=$(tier 1 slots)
ok "data" dd if="$WORK/noise" of="$T0" bs=64k count=300 oflag=direct status=none
ok "the first one grows" grow small "0 18432 linear $dev 0"
ok "reload" reload "$LEN" "$SSD" "$HDD"
is "$(tier 0 slots) $(tier 1 slots)" "$((slots + 32)) $more" "it has more slots"
ok "move some there" msg move 0 $((200 * 128)) $((20 * 128))
ok "ends" wait_until 60 no_jobs
ok "they are used" test "$(tier 0 used)" -gt $((slots + 16))
ok "promote more than it has room for" msg promote 0 "$LEN"
ok "ends soon" wait_until 60 no_jobs
like "$(klog)" "promote: [0-9]+ blocks were left out, no slot could be had for them" "the log tells of those that are left"
ok "the last one grows" grow "$hdd" "0 $full linear $back 0"
ok "and the device" sh -c "'$DMTIER' table --grow --policy lru --feature 'migration off' $SSD $HDD $META | dmsetup load t0"
ok "reload" sh -c "dmsetup suspend --nolockfs t0 && dmsetup resume t0"
is "$(tier 0 slots) $(tier 1 slots)" "$((slots + 32)) $((more + 32))" "both have more slots"
is "$(blockdev --getsz "$T0")" $((LEN + 64 * 128)) "and the device is longer"
ok "all is right" right
ok "a write at its end" dd if="$WORK/noise" of="$T0" bs=64k seek=$((LEN / 128 + 63)) count=1 oflag=direct conv=notrunc status=none
ok "remove" dmsetup remove t0
ok "metadata" check_tiers

# ---- a disk that was taken over grows by less than a block, and then the power fails ----
crash_images() { local d; for d in "$HDD" "$META"; do "$@" "$d" "$WORK/crash.${d##*/}" || return; done; }
save() { dd if="$1" of="$2" bs=64k count=128 iflag=direct status=none; }
restore() { dd if="$2" of="$1" bs=64k oflag=direct status=none; }
taken_up() { "$DMTIER" create t0 "$HDD" "$SSD" "$META"; }
ok "a shorter disk" grow small "0 18360 linear $dev 0"
ok "without header" dd if=/dev/zero of="$SSD" bs=1M count=1 oflag=direct status=none
ok "format" "$DMTIER" format --force --mode tiered --take-data --block-size 64k "$HDD" "$SSD" "$META"
ok "create" taken_up
ok "stop" dmsetup remove t0
ok "it grows" grow small "0 18424 linear $dev 0"
ok "create" taken_up
ok "what a power cut would leave" crash_images save
ok "stop" dmsetup remove t0
ok "the power cut" crash_images restore
ok "create" taken_up
ok "remove" dmsetup remove t0

done_testing
