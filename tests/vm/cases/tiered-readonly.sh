# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=600
# vmtap: ignore=Buffer I/O error|I/O error, dev|Trying to write to read-only
#
# Tiered devices that are started read-only after a crash, with all tiers and without each of them: nothing is written.
# shellcheck source=../tiered-lib.sh
. "${0%/*}/../tiered-lib.sh"
load_modules
head -c 1M /dev/urandom >"$WORK/noise"

DEVS="ssd hdd tier1 meta"
sums() { local d; for d in $DEVS; do flat /dev/mapper/"$d"; done; }
dmt() { within 60 "$DMTIER" "$@"; }
log() { klog | grep -cE -- "$1"; }

# line LENGTH DEV0 DEV1 META [DEV...] [-- FEATURE...]	a table line by hand
line()
{
	local len=$1 d0=$2 d1=$3 meta=$4 f=() w

	shift 4
	while [ $# -gt 0 ] && [ "$1" != -- ]; do f+=(tier_dev "$1"); shift; done
	[ $# = 0 ] || shift
	for w; do f+=("$w"); done
	echo "0 $len tier $d0 $d1 $meta 128 $((${#f[@]} + 1)) tiered ${f[*]} lru 0"
}

# bad DESCRIPTION LOG LINE [OPTION]	the constructor says no; what the log has to say of it goes to WHY
WHY=()
bad()
{
	nok "$1" dmsetup create "${@:4}" t0 --table "$3" || dmsetup remove t0
	WHY+=("$2")
}

# blocks FIRST COUNT	hold what was written there
blocks() { cmp -n $(($2 * 65536)) -i $(($1 * 65536)) "$T0" "$WORK/noise"; }
eio() { ! dd if="$T0" of=/dev/null bs=64k skip="$1" count="$2" iflag=direct status=none 2>"$WORK/err" && grep -q "Input/output error" "$WORK/err"; }

# ---- blocks 0-3, 4-7 and 8-11 on the three tiers, a sector in block 20; then a crash ----
ok "create" new_tiers 64k "5 9 4 5" lru "migration off migration_rate 1000000"
get_tiers
TIER=${TIERS[0]}
LEN=$(blockdev --getsz "$T0")
ok "data" dd if="$WORK/noise" of="$T0" bs=64k count=12 oflag=direct status=none
ok "a sector" dd if="$WORK/noise" of="$T0" bs=512 seek=2560 count=1 oflag=direct status=none
ok "move" msg move 1 512 512
ok "move" msg move 2 1024 512
ok "end" wait_until 20 no_jobs
ok "pin" msg pin 512 128
ok "sync" sync "$T0"
sleep 1.5
places="0 512 0 -
512 128 1 pinned
640 384 1 -
1024 512 2 -
1536 1024 - -
2560 128 0 -
2688 $((LEN - 2688)) - -"
is "$(where 0 "$LEN")" "$places" "they are where they should be"
for d in $DEVS; do dd if=/dev/mapper/"$d" of="$WORK/$d.img" bs=1M iflag=direct status=none; done
ok "remove" dmsetup remove t0
for d in $DEVS; do dd if="$WORK/$d.img" of=/dev/mapper/"$d" bs=1M oflag=direct status=none; rm "$WORK/$d.img"; done
code 0 "check" dmt check "$META"
like "$OUT" "journal +[1-9].*last stop +not clean" "the journal has something, and no stop was clean"
before=$(sums)

# ---- all tiers, read-only ----
for d in $DEVS; do blockdev --setro /dev/mapper/"$d"; done
code 0 "create read-only, on read-only devices" dmt create --readonly t0 "$SSD" "$HDD" "$META" "$TIER"
is "$(st health) $(st check) $(blockdev --getro "$T0")" "ro - 1" "health"
is "$(tier 0 state) $(tier 1 state) $(tier 2 state)" "ok ok ok" "states"
is "$(where 0 "$LEN")" "$places" "the journal counts"
ok "the data" blocks 0 12
ok "zeros" zeros "$T0" 1536 $((1024 * 512))
ok "the sector" cmp -n 512 -i $((2560 * 512)):0 "$T0" "$WORK/noise"
ok "zeros behind it" zeros "$T0" 2561 $(((LEN - 2561) * 512))
nok "a write" dd if=/dev/zero of="$T0" bs=64k count=1 oflag=direct status=none
# the target must refuse by itself: a device on top of it asks nobody if it is read-only
dmsetup create over --table "0 $LEN linear $T0 0"
nok "a write through another device" dd if=/dev/zero of=/dev/mapper/over bs=64k count=1 oflag=direct status=none
nok "a write to a place without data" dd if=/dev/zero of=/dev/mapper/over bs=64k seek=15 count=1 oflag=direct status=none
nok "a discard" blkdiscard -o 0 -l 65536 /dev/mapper/over
nok "zeros" blkdiscard -z -o 0 -l 65536 /dev/mapper/over
ok "a flush is fine" sync /dev/mapper/over
ok "remove" dmsetup remove over
klog_mark
for m in "move 0 512 128" "pin 0 128" "unpin 512 128" "set commit_ms 100" "policy clock2q" "evacuate 1"; do
	# shellcheck disable=SC2086
	nok "message $m" msg $m
done
is "$(log "message .*: the device is read-only")" 6 "the log says why"
ok "counters may be reset" msg stats reset
ok "suspend" dmsetup suspend t0
ok "resume" dmsetup resume t0
ok "the data" blocks 0 12
code 0 "remove" dmt remove t0
is "$OUT" "" "nothing to say of it"
is "$(sums)" "$before" "nothing was written to any device"

# ---- without each of the tiers ----
for m in 0 1 2; do
	devs=("$SSD" "$HDD" "$META" "$TIER")
	devs[m + (m > 1)]=-
	code 0 "create without tier $m" dmt create t0 "${devs[@]}"
	is "$(tier $m state)" missing "says the status"
	for i in 0 1 2; do
		if [ $i = $m ]; then
			ok "what is on tier $i gives EIO" eio $((4 * i)) 4
			ok "its last block, too" eio $((4 * i + 3)) 1
			ok "errors are counted" test "$(tier $i errors)" -ge 2
		else
			ok "what is on tier $i is right" blocks $((4 * i)) 4
		fi
	done
	ok "what was never written" zeros "$T0" 1536 $((1024 * 512))
	ok "remove" dmsetup remove t0
done
is "$(log "tier [012] .* is missing: the [45] blocks on it can't be read")" 3 "says the log"
code 0 "check without one" dmt check "$SSD" - "$META" "$TIER"
like "$OUT" "note: tier: tier 1 .* is missing, and 4 blocks are on it" "it is told"

ok "the last tier alone" dmsetup create --readonly t0 --table "$(line "$LEN" - - "$META" "$TIER")"
ok "has its blocks" blocks 8 4
is "$(tier 0 state) $(tier 1 state) $(tier 2 state) $(st health)" "missing missing ok ro" "status"
like "$(dmsetup table t0)" " tier - - .* tier_dev 25" "table"
is "$(dmsetup deps t0 | cut -d' ' -f1)" 2 "two devices are open"
ok "another table" dmsetup load --readonly t0 --table "$(line "$LEN" "$SSD" - "$META" "$TIER")"
ok "in its place" dmsetup resume t0
ok "has those of the first, too" blocks 0 4
ok "remove" dmsetup remove t0
is "$(sums)" "$before" "nothing was written to any device"
if modprobe loop && loop=$(losetup -r -f --show "$META"); then
	ok "the metadata on a read-only loop device" dmsetup create --readonly t0 --table "$(line "$LEN" - "$HDD" "$loop" "$TIER")"
	ok "is as good" blocks 4 8
	ok "remove" dmsetup remove t0
	losetup -d "$loop"
else
	fail "a loop device"
fi

# ---- what is refused ----
for d in $DEVS; do blockdev --setrw /dev/mapper/"$d"; done
klog_mark
bad "a missing tier in a table that can be written" "a missing tier \(-\) needs a read-only table: dmsetup create --readonly" \
	"$(line "$LEN" "$SSD" - "$META" "$TIER")"
bad "all missing" "all tiers are missing \(-\)" "$(line "$LEN" - - "$META" -)" --readonly
bad "a tier that stands elsewhere" "tier 1: device is another tier, or none" "$(line "$LEN" "$SSD" "$TIER" "$META" -)" --readonly
bad "another order" "tier 0: device is another tier, or none" "$(line "$LEN" "$HDD" "$SSD" "$META" "$TIER")" --readonly
bad "one tier less" "2 tiers in the table, 3 in the metadata: read-only it can't change" "$(line "$LEN" "$SSD" "$HDD" "$META")" --readonly
bad "one more" "4 tiers in the table, 3 in the metadata: read-only it can't change" "$(line "$LEN" "$SSD" "$HDD" "$META" "$TIER" -)" --readonly
bad "longer" "read-only it can't grow" "$(line $((LEN + 128)) "$SSD" "$HDD" "$META" "$TIER")" --readonly
bad "accept_new_tier" "accept_new_tier needs a table that can be written" \
	"$(line "$LEN" "$SSD" "$HDD" "$META" "$TIER" -- accept_new_tier)" --readonly
said=$(klog)
for w in "${WHY[@]}"; do like "$said" "$w" "the log says: $w"; done
nok "a missing device without -" dmsetup create --readonly t0 --table "$(line "$LEN" "$SSD" /dev/none "$META" "$TIER")"
nok "nor in a table that can be written" dmsetup create t0 --table "$(line "$LEN" "$SSD" /dev/none "$META" "$TIER")"
code 8 "tiers in another order, for dmtier" dmt table "$TIER" - "$META" "$HDD"
is "$(sums)" "$before" "nothing was written to any device"

# ---- all is back ----
ok "a normal start" tiers_up lru "migration off migration_rate 1000000"
is "$(st health)" rw "health"
is "$(where 0 "$LEN")" "$places" "all is where it was"
ok "the data" blocks 0 12
ok "zeros" zeros "$T0" 1536 $((1024 * 512))
ok "a write" dd if="$WORK/noise" of="$T0" bs=64k count=1 oflag=direct status=none

# ---- files that are left ----
ok "mkfs" mkfs.ext4 -q "$T0"
mkdir -p "$WORK/mnt"
ok "mount" mount "$T0" "$WORK/mnt"
cp "$WORK/noise" "$WORK/mnt/left"
cp "$WORK/noise" "$WORK/mnt/lost"
sync "$WORK/mnt/left"
read -r first sectors < <(dmt where --file "$WORK/mnt/lost" | awk 'NR == 2 { print $1, $2 }')
# not the blocks at its ends, which it may share with others
code 0 "most of a file moves" dmt move t0 1 $((first + 128)) $((sectors - 256))
ok "ends" wait_until 20 no_jobs
umount "$WORK/mnt"
code 0 "remove" dmt remove t0
before=$(sums)
code 0 "create without its tier" dmt create t0 "$SSD" - "$META" "$TIER"
ok "mount" mount -o ro,noload "$T0" "$WORK/mnt"
ok "the other file can be read" cmp "$WORK/noise" "$WORK/mnt/left"
nok "it can't" cmp "$WORK/noise" "$WORK/mnt/lost"
code 0 "and which is it?" sh -c "'$DMTIER' lost --force --tier 1 '$META' $WORK/mnt/le* $WORK/mnt/lo* 2>/dev/null"
is "$OUT" "$WORK/mnt/lost" "that one"
umount "$WORK/mnt"
code 0 "remove" dmt remove t0
is "$(sums)" "$before" "nothing was written to any device"
code 0 "check" check_tiers

# ---- the journal damaged, after a clean stop ----
bad=$(($(od -An -tu8 -j 120 -N 8 "$META") + 9))
dd if=/dev/zero of="$META" bs=4k seek=$bad count=1 oflag=direct status=none
before=$(sums)
code 0 "create read-only with a damaged journal" dmt create --readonly t0 "$SSD" "$HDD" "$META" "$TIER"
is "$(log "journal is damaged \(metadata block $bad, sector 0\)")" 1 "the log says so"
ok "mount" mount -o ro,noload "$T0" "$WORK/mnt"
ok "all is there" cmp "$WORK/noise" "$WORK/mnt/lost"
umount "$WORK/mnt"
code 0 "remove" dmt remove t0
is "$(sums)" "$before" "nothing was written to any device"
code 4 "check finds it" check_tiers
ok "a normal start" tiers_up lru
code 0 "remove" dmt remove t0
code 0 "makes it good" check_tiers

done_testing
