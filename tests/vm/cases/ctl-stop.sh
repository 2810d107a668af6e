# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=900
# vmtap: ignore=Buffer I/O error|blk_update_request|I/O error, dev
# Stops and starts that fail half way: a device stops taking flushes or writes just then.
# shellcheck source=../lib.sh
. "${0%/*}/../lib.sh"
# shellcheck source=ctl-lib.sh
. "${0%/*}/ctl-lib.sh"
# shellcheck disable=SC2119	# all of them
load_modules
T=/dev/mapper/t0
setup_devs 12 64 4
pattern "$WORK/old" 8
pattern "$WORK/new" 8
words() { line --mode "$1" --policy lru --feature "idle_ms 3600000" --feature "commit_ms 60000" --feature "max_errors $2"; }

# fails MODE MAX-ERRORS		the fast device takes no flushes while t0 is suspended with unflushed writes
fails()
{
	local mode=$1 what="$1, max_errors $2"

	format_set --block-size 64k >"$WORK/out" 2>&1
	ok "$what: create" dmsetup create t0 --table "$(words "$mode" "$2")"
	wr $T 0 1024 "$WORK/old"
	sync $T
	# granules that a record has already, and new ones
	wr $T 0 512 "$WORK/new"
	wr $T 2048 512 "$WORK/new"
	dev_slow meta 10
	dev_fail ssd flush
	ok "$what: suspend while flushes fail" within 60 dmsetup suspend t0
	dev_ok ssd
	dev_ok meta
	ok "$what: resume" within 60 dmsetup resume t0
	ok "$what: what was overwritten" same "$WORK/new" $T 0 512
	ok "$what: what was not" same "$WORK/old" $T 512 512 512
	ok "$what: what is new" same "$WORK/new" $T 2048 512
	wr $T 512 16 "$WORK/new"
	ok "$what: remove" stop t0
	ok "$what: check" "$DMTIER" check "$SSD" "$HDD" "$META"
	ok "$what: create" dmsetup create t0 --table "$(words "$mode" "$2")"
	ok "$what: what was overwritten" same "$WORK/new" $T 0 512
	ok "$what: what is new" same "$WORK/new" $T 2048 512
	ok "$what: flush" flush t0
	ok "$what: all is on the slow device" same "$WORK/new" "$HDD" 2048 512
	ok "$what: remove" stop t0
}
fails writethrough 1
fails writeback 1
fails writeback 100

# copies that were overwritten and not flushed are not believed after a stop that gave the fast device up:
# what it was told is gone
format_set --block-size 64k >"$WORK/out" 2>&1
ok "lost: create" dmsetup create t0 --table "$(words writethrough 1)"
wr $T 0 1024 "$WORK/old"
sync $T
cp "$SSD" "$WORK/ssd"
wr $T 0 1024 "$WORK/new"
dev_fail ssd flush
ok "lost: remove" stop t0
dev_ok ssd
dd if="$WORK/ssd" of="$SSD" bs=64k skip=16 seek=16 oflag=direct status=none	# the header stays
ok "lost: create" dmsetup create t0 --table "$(words writethrough 1)"
ok "lost: the new data" same "$WORK/new" $T 0 1024
ok "lost: remove" stop t0

# metadata that can't be written any more: it goes on read-only, also after suspend and resume
format_set --block-size 64k >"$WORK/out" 2>&1
ok "ro: create" dmsetup create t0 --table "$(words writeback 32)"
wr $T 0 512 "$WORK/new"
sync $T
wr $T 512 16 "$WORK/old"
dev_fail meta write
nok "ro: a flush fails" sync $T
dev_ok meta
ok "ro: suspend" within 60 dmsetup suspend t0
ok "ro: resume" within 60 dmsetup resume t0
get_status t0
is "${S[health]}" ro "ro: still is"
ok "ro: reads go on" same "$WORK/new" $T 0 512
ok "ro: also of what was not recorded" same "$WORK/old" $T 512 16
nok "ro: writes fail" wr $T 0 16 "$WORK/old"
ok "ro: remove" stop t0

# a start that fails leaves nothing that stands in the way of the next table
format_set --block-size 64k >"$WORK/out" 2>&1
ok "create" dmsetup create t0 --table "$(words writeback 32)"
wr $T 0 512 "$WORK/new"
ok "suspend" dmsetup suspend t0
dev_fail ssd write
nok "a resume that fails" dmsetup resume t0
dev_ok ssd
ok "load" dmsetup load t0 --table "$(words writeback 32)"
ok "the new table resumes" dmsetup resume t0
ok "the data are there" same "$WORK/new" $T 0 512
ok "remove" stop t0

# of two targets in a table the second one does not start
new_dev ssd2 12 && new_dev hdd2 64 && new_dev meta2 4
"$DMTIER" format --block-size 64k /dev/mapper/ssd2 /dev/mapper/hdd2 /dev/mapper/meta2 >"$WORK/out" 2>&1
second=$("$DMTIER" table /dev/mapper/ssd2 /dev/mapper/hdd2 /dev/mapper/meta2)
printf '%s\n131072 %s\n' "$(words writeback 32)" "${second#0 }" >"$WORK/both"
dmsetup create t0 --notable
ok "two: load" dmsetup load t0 "$WORK/both"
dev_fail meta2 write
nok "two: resume" dmsetup resume t0
dev_ok meta2
ok "two: resume once more" dmsetup resume t0
ok "two: the data are there" same "$WORK/new" $T 0 512
ok "two: suspend" dmsetup suspend t0
dev_fail meta2 write
nok "two: resume" dmsetup resume t0
dev_ok meta2
ok "two: load" dmsetup load t0 "$WORK/both"
ok "two: the new table resumes" dmsetup resume t0
ok "two: the data are there" same "$WORK/new" $T 0 512
ok "two: remove" stop t0

# in the middle of anything, with a disk that takes its time
format_set --block-size 64k >"$WORK/out" 2>&1
for what in flush "mode writethrough" "promote 65536 32768" "demote 0 131072" "policy hotspot" "invalidate 65536 4096"; do
	ok "create" dmsetup create t0 --table "$(words writeback 32)"
	wr $T 0 512 "$WORK/new"
	sync $T
	dev_slow hdd 300
	# shellcheck disable=SC2086
	ok "$what" msg t0 $what
	ok "removed meanwhile" within 30 dmsetup remove t0
	dev_ok hdd
done
ok "check" "$DMTIER" check "$SSD" "$HDD" "$META"
ok "create" dmsetup create t0 --table "$(words writeback 32)"
ok "the data are there" same "$WORK/new" $T 0 512
ok "remove" stop t0
done_testing
