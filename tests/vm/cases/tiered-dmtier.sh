# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=900
#
# dmtier and running tiered devices: a disk taken over with its data, where, move, evacuate, keep, status, one tier less.
# shellcheck source=../tiered-lib.sh
. "${0%/*}/../tiered-lib.sh"
load_modules

dmt() { within 300 "$DMTIER" "$@"; }
sectors_on() { jq "[.ranges[] | select(.tier == $1).sectors] | add // 0" <<<"$OUT"; }	# TIER

# ---- a disk with a file system becomes the last tier ----
setup_devs 24 $((60 * 2048 + 70))s 8
ok "mkfs" mkfs.ext4 -q "$HDD"
mkdir -p "$WORK/mnt"
ok "mount the disk" mount "$HDD" "$WORK/mnt"
head -c 20M /dev/urandom >"$WORK/noise"
cp "$WORK/noise" "$WORK/mnt/noise"
umount "$WORK/mnt"
dd if=/dev/urandom of="$HDD" bs=512 seek=$((60 * 2048)) count=70 oflag=direct status=none
cp "$HDD" "$WORK/disk"
code 0 "format" dmt format --mode tiered --take-data "$SSD" "$HDD" "$META"
ok "the disk was not written to" cmp "$HDD" "$WORK/disk"
code 0 "create" dmt create --feature "migration off migration_rate 1000000" t0 "$SSD" "$HDD" "$META"
ok "its data are those of the tiered device" cmp -n $(((60 * 2048 + 70) * 512)) "$T0" "$WORK/disk"
code 0 "status" dmt status --long t0
like "$OUT" "tier 1: ok, 960 of 960 slots used" "the disk is full"
like "$OUT" "tier 0: ok, 1 of 368 slots used" "what is less than a block is on the SSD"
code 0 "where" dmt where t0 0 80m
like "$OUT" "FIRST +SECTORS +TIER +PINNED" "a table"
like "$OUT" $'\n *0 +122880 +1 +-\n *122880 +128 +0 +-\n *123008 +40832 +- +-$' "of what is where"
sectors=$(blockdev --getsz "$T0")
code 0 "where, of all" dmt where t0
like "$OUT" $'\n *0 +122880 +1 +-\n *122880 +128 +0 +-\n *123008 +'$((sectors - 123008))$' +- +-$' "the same up to the end"
code 0 "where, from a sector on" dmt where t0 123008
like "$OUT" $'PINNED\n *123008 +'$((sectors - 123008))$' +- +-$' "the rest"
code 8 "where, behind the end" dmt where t0 "$sectors"
like "$OUT" "FIRST $sectors is behind the end: t0 has $sectors sectors" "and why"

ok "mount the tiered device" mount "$T0" "$WORK/mnt"
code 0 "where is a file" dmt where --json --file "$WORK/mnt/noise"
is "$(sectors_on 1)" 40960 "all of it on the disk"
first=$(dmt where --file "$WORK/mnt/noise" | awk 'NR == 2 { print $1 }')
code 0 "move its begin" dmt move t0 0 "$first" 8m
ok "ends" wait_until 60 no_jobs
sleep 1.5
code 0 "where is it now" dmt where --json --file "$WORK/mnt/noise"
on_ssd=$(sectors_on 0)
ok "on the SSD" test "$on_ssd" -ge 8192
ok "it is right" cmp "$WORK/noise" "$WORK/mnt/noise"
dd if=/dev/zero of="$WORK/mnt/pad" bs=1M count=1 conv=fsync status=none
code 0 "which files would be lost with the SSD" sh -c "'$DMTIER' lost --force --tier 0 $META $WORK/mnt/noise $WORK/mnt/pad 2>/dev/null"
like "$OUT" "^$WORK/mnt/noise" "the one that was moved there"
code 8 "a file of which nothing can be said" dmt lost --force --tier 0 "$META" /proc/version
truncate -s 8M "$WORK/other"
mkdir -p "$WORK/mnt2"
ok "another file system" sh -c "modprobe -q loop; mkfs.ext4 -q $WORK/other && mount -o loop $WORK/other $WORK/mnt2 && echo text >$WORK/mnt2/file && sync"
code 8 "a file on it" dmt lost --force --tier 0 "$META" "$WORK/mnt2/file"
like "$OUT" "mnt2/file is not on a file system on the tier device" "is refused"
umount "$WORK/mnt2"
loop=$(losetup -f --show "$WORK/other")
ok "a file system on another mapped device" sh -c "
	echo '0 16384 linear $loop 0' | dmsetup create other && mount /dev/mapper/other $WORK/mnt2"
code 8 "where is a file on it" dmt where --file "$WORK/mnt2/file"
like "$OUT" "mnt2/file is not on a file system that is on a tier device" "is refused"
is "$(wc -l <<<"$OUT")" 1 "in one sentence"
umount "$WORK/mnt2"
dmsetup remove other
losetup -d "$loop"
code 16 "a tunable of a tier that is not there" dmt set t0 free_low.2 5
like "$OUT" "free_low.2: there is no tier 2: they are 0 to 1" "and why"
nok "the message, too" dmsetup message t0 0 set free_low.2 5
ok "of one that is" dmsetup message t0 0 set free_low.1 4
code 8 "status of what is not there" dmt status t0 nosuch
like "$OUT" $'(^|\n)t0 +rw +tiered.*nosuch' "t0 has a line"
is "$(grep -c '^nosuch' <<<"$OUT")" 0 "and it has none"
code 0 "pin" dmt pin t0 "$first" 1
code 0 "where" dmt where "$T0" "$first" 1
like "$OUT" "$first +1 +0 +pinned" "pinned, by the path of the node"
code 0 "unpin" dmt unpin t0 "$first" 1
code 0 "promote" dmt promote t0 "$((first + 16384))" 128
code 0 "demote" dmt demote t0 "$first" 1
ok "end" wait_until 60 no_jobs
code 0 "where" dmt where t0 "$first" 1
like "$OUT" "$first +1 +1 +-" "one has moved down"
code 0 "where" dmt where t0 "$((first + 16384))" 1
like "$OUT" "$((first + 16384)) +1 +0 +-" "the other up"
code 0 "pin, for good" dmt pin t0 "$((first + 16384))" 1
code 8 "where of a disk" dmt where "$SSD" 0 8
code 8 "move to a tier that is not there" dmt move t0 2 0 8
like "$OUT" "no tier 2" "and why"
code 8 "flush" dmt flush t0
like "$OUT" "tiered: .*nothing to write back" "there is nothing to do"

# ---- emptying the SSD ----
code 8 "evacuate, with the disk full" dmt evacuate t0 0
like "$OUT" "the tiers that take some have room for only" "and why"
umount "$WORK/mnt"
code 0 "remove" dmt remove t0
code 0 "check" dmt check "$SSD" "$HDD" "$META"
like "$OUT" ": good" "good"
code 0 "create" dmt create --feature "migration off migration_rate 1000000" t0 "$SSD" "$HDD" "$META"
is "$(tier 0 pinned) $(tier 1 pinned)" "1 0" "what was pinned is, and what was unpinned isn't"
code 0 "unpin" dmt unpin t0 "$((first + 16384))" 1
ok "mount it again" mount "$T0" "$WORK/mnt"
ok "the file is right" cmp "$WORK/noise" "$WORK/mnt/noise"
rm "$WORK/mnt/noise" "$WORK/mnt/pad"
ok "give its room back" fstrim "$WORK/mnt"
umount "$WORK/mnt"
ok "fsck" fsck.ext4 -fn "$T0"
code 0 "evacuate" dmt evacuate --wait t0 0
is "$(tier 0 used) $(tier 0 state)" "0 empty" "it is empty"
ok "fsck" fsck.ext4 -fn "$T0"
code 0 "keep" dmt keep t0 0
is "$(tier 0 state)" ok "and used again"
code 0 "remove" dmt remove t0
dd if="$WORK/noise" of="$HDD" bs=512 count=1 oflag=direct status=none
code 8 "create, when others have written to the disk" dmt create t0 "$SSD" "$HDD" "$META"
like "$OUT" "written to by others.*accept_changed_slow" "is refused"
code 8 "also with new tiers welcome" dmt create --feature accept_new_tier t0 "$SSD" "$HDD" "$META"
code 0 "if they may have" dmt create --feature accept_changed_slow t0 "$SSD" "$HDD" "$META"
ok "what they wrote is there" cmp -n 512 "$T0" "$WORK/noise"
code 0 "remove" dmt remove t0
code 0 "create as ever" dmt create t0 "$SSD" "$HDD" "$META"
code 0 "remove" dmt remove t0

# ---- a third tier, and one less ----
ok "three tiers" fresh_tiers 64k 9 17 8 17
get_tiers
code 0 "create" dmt create --policy lru --feature "migration off migration_rate 1000000" t0 "$SSD" "$HDD" "$META" "${TIERS[@]}"
dd if="$WORK/noise" of="$T0" bs=64k count=200 oflag=direct status=none
code 0 "evacuate" dmt evacuate --wait t0 0
is "$(tier 0 used)" 0 "empty"
ok "the table of the others" sh -c "'$DMTIER' table --policy lru $HDD ${TIERS[0]} $META >$WORK/table"
ok "load" dmsetup load t0 "$WORK/table"
ok "suspend" dmsetup suspend t0
ok "resume" dmsetup resume t0
is "$(dmsetup table t0 | grep -c tier_dev)" 0 "two tiers are left"
is "$(dmsetup status --noflush t0 | grep -oE ' [0-9]+/[0-9]+ ' | head -n 1)" \
	" $(($(tier 0 used) + $(tier 1 used)))/$(($(tier 0 slots) + $(tier 1 slots))) " "and their slots are all that count"
ok "all is right" cmp -n $((200 * 65536)) "$T0" "$WORK/noise"
code 0 "remove" dmt remove t0
code 0 "check" dmt check "$HDD" "${TIERS[0]}" "$META"
like "$OUT" ": good" "good"

drop_devs
done_testing
