# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=600
# A fast device that died comes back, or is replaced by another one: nothing of an old copy is believed.
# shellcheck source=../lib.sh
. "${0%/*}/../lib.sh"
# shellcheck source=ctl-lib.sh
. "${0%/*}/ctl-lib.sh"
# shellcheck disable=SC2119	# all of them
load_modules
setup_devs 16 32 4
T=/dev/mapper/t0
new_dev big 24
new_dev small 8
new_dev other-ssd 16
new_dev other-hdd 32
new_dev other-meta 4
BIG=/dev/mapper/big SMALL=/dev/mapper/small

# on SSD [WORD...]		the table line with that fast device and these features
on() { local ssd=$1; shift; echo "0 65536 tier $ssd $HDD $META 128 $# $* lru 0"; }
try() { dmsetup create t0 --table "$(on "$@")"; }
blank() { dd if=/dev/zero of="$1" bs=4k count=1 oflag=direct status=none; }

pattern "$WORK/a" 4
pattern "$WORK/b" 4
ok "format" format_set --block-size 64k
ok "format another set" "$DMTIER" format --force --block-size 64k /dev/mapper/other-{ssd,hdd,meta}

# --- dies in writethrough, is replaced while the device lives ---------------------------------

ok "writethrough" try "$SSD" writethrough max_errors 1
wr $T 0 1024 "$WORK/a"
holds "copies are there" t0 used -gt 50
ok "the SSD dies" dev_fail ssd all
ok "a read of what it had" same "$WORK/a" $T
ok "a write" wr $T 0 512 "$WORK/b"
sync $T
soon "degraded" 10 has t0 health = degraded
ok "load a table with a blank SSD, a larger one" dmsetup load t0 --table "$(on $BIG writethrough accept_new_fast)"
ok "resume" dmsetup resume t0
holds "health is rw" t0 health = rw
holds "it has the slots of the new one" t0 slots -eq $(((24 - 1) * 16))
holds "all are free" t0 used -eq 0
ok "what was written meanwhile" same "$WORK/b" $T 0 512
ok "and what was not" same "$WORK/a" $T 512 512 512
like "$(dmsetup table t0)" accept_new_fast "the table shows the feature"
wr $T 0 1024 "$WORK/a"
holds "copies are made" t0 used -gt 50
dev_fail hdd read
ok "and serve reads" same "$WORK/a" $T
dev_ok hdd
ok "stop" stop t0
ok "check" "$DMTIER" check $BIG "$HDD" "$META"
ok "starts without the feature" try $BIG writethrough
holds "warm" t0 used -gt 50
wr $T 0 1024 "$WORK/b"
ok "stop" stop t0

# --- the old one comes back, with what it had --------------------------------------------------

dev_ok ssd
refused "the old SSD" "fast device is stale.*accept_new_fast" try "$SSD" writethrough
refused "one of another set" "belongs to other metadata" try /dev/mapper/other-ssd writethrough accept_new_fast
dd if="$WORK/a" of=$SMALL bs=4k count=1 oflag=direct status=none
refused "one with something on it" "holds something else" try $SMALL writethrough accept_new_fast
ok "the old SSD, with the feature" try "$SSD" writethrough accept_new_fast
holds "no copy of it counts" t0 used -eq 0
holds "it has its own size" t0 slots -eq $(((16 - 1) * 16))
ok "the newest data" same "$WORK/b" $T
ok "stop" stop t0
refused "now the other one is stale" "fast device is stale" try $BIG writethrough

# --- a smaller one, after a power cut ----------------------------------------------------------

ok "start" try "$SSD" writethrough
wr $T 0 1024 "$WORK/a"
dd if="$META" of="$WORK/meta" bs=1M iflag=direct status=none
ok "stop" stop t0
dd if="$WORK/meta" of="$META" bs=1M oflag=direct status=none
blank $SMALL
refused "a blank one" "not formatted.*accept_new_fast" try $SMALL writethrough
dev_fail small write
refused "its header can't be written" "new fast device can't be written" try $SMALL writethrough accept_new_fast
dev_ok small
refused "it is still blank" "not formatted" try $SMALL writethrough
ok "a smaller one" try $SMALL writethrough accept_new_fast
holds "no copy" t0 used -eq 0
holds "as many slots as it has room for" t0 slots -eq $(((8 - 1) * 16))
ok "the data" same "$WORK/a" $T
wr $T 0 256 "$WORK/b"
ok "again" same "$WORK/b" $T 0 256
ok "stop" stop t0
ok "check" "$DMTIER" check $SMALL "$HDD" "$META"

# --- with dirty data ---------------------------------------------------------------------------

ok "writeback" try $SMALL writeback idle_ms 3600000
wr $T 512 16 "$WORK/a"
wr $T 1000 1 "$WORK/a"
wr $T 8191 1 "$WORK/a"
ok "stop" stop t0
get=$("$DMTIER" lost "$META" 2>"$WORK/said")
is "$get" "4096 128
8000 8
65528 8" "dmtier lost lists what only the SSD has"
like "$(<"$WORK/said")" "3 ranges, 72 KiB" "and sums it up"
blank $BIG
before=$(cksum "$META" $BIG)
refused "a blank one while data are dirty" "slots with dirty data are on.*dmtier lost" try $BIG accept_new_fast
is "$(cksum "$META" $BIG)" "$before" "nothing was written"
dev_fail small read
refused "one that can't be read" "header cannot be read" try $SMALL accept_new_fast
dev_ok small
ok "the right one" try $SMALL writeback idle_ms 3600000
holds "is as dirty as before" t0 dirty -eq 18
ok "its data" same "$WORK/a" $T 512 16
flush t0
ok "stop" stop t0
is "$("$DMTIER" lost "$META" 2>/dev/null)" "" "after a flush nothing is lost with it"
ok "the blank one, by dmtier" "$DMTIER" create --mode writeback --policy lru --feature accept_new_fast t0 $BIG "$HDD" "$META"
ok "the data are on the HDD" same "$WORK/a" $T 512 16
ok "stop" stop t0
ok "check" "$DMTIER" check $BIG "$HDD" "$META"

# --- the HDD grows ------------------------------------------------------------------------------

new_dev hdd2 40
dd if="$HDD" of=/dev/mapper/hdd2 bs=1M oflag=direct status=none
HDD=/dev/mapper/hdd2
ok "create on a larger HDD" "$DMTIER" create t0 $BIG "$HDD" "$META"
is "$(blockdev --getsz $T)" 65536 "it keeps its length"
ok "stop" stop t0
ok "create with --grow" "$DMTIER" create --grow t0 $BIG "$HDD" "$META"
is "$(blockdev --getsz $T)" 81920 "it has grown"
ok "it can be written to there" wr $T 9000 64 "$WORK/a"
ok "and read" same "$WORK/a" $T 9000 64
ok "stop" stop t0
ok "check" "$DMTIER" check $BIG "$HDD" "$META"
refused_done
done_testing
