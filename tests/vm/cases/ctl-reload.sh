# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=600
# Suspend, resume, reload, resize, remove: under load, with dirty data, with verification.
# shellcheck source=../lib.sh
. "${0%/*}/../lib.sh"
# shellcheck source=ctl-lib.sh
. "${0%/*}/ctl-lib.sh"
# shellcheck disable=SC2119	# all of them
load_modules
T=/dev/mapper/t0
new_dev ssd0 80
new_dev hdd0 64
new_dev meta 4
new_dev bigmeta 4
META=/dev/mapper/meta
SSD=/dev/mapper/ssd HDD=/dev/mapper/hdd
# the devices proper are the beginnings of these
dmsetup create ssd --table "0 32768 linear /dev/mapper/ssd0 0"
dmsetup create hdd --table "0 98308 linear /dev/mapper/hdd0 0"	# ends in the middle of a granule
resize() { dmsetup load "$1" --table "0 $2 linear /dev/mapper/${1}0 0" && dmsetup resume "$1"; }
table() { echo "0 $1 tier $SSD $HDD $META 128 ${*:2}"; }
ok "format" format_set --block-size 64k
ok "create" dmsetup create t0 --table "$(table 98308 3 writeback idle_ms 3600000 lru 0)"

# --- under load -------------------------------------------------------------------------------

fio --name=v --thread --filename=$T --size=40M --rw=randrw --rwmixread=40 --bsrange=4k-32k --blockalign=4k \
	--ioengine=libaio --iodepth=8 --direct=1 --verify=crc32c --verify_fatal=1 --verify_backlog=64 \
	--time_based --runtime=$((600 * LIB_SLOW)) --fsync=100 >"$WORK/load.out" 2>&1 &
load=$!
soon "the load runs" 30 has t0 dirty -gt 64
for i in 1 2 3; do
	ok "suspend $i" within 60 dmsetup suspend t0
	ok "resume $i" within 60 dmsetup resume t0
	ok "suspend --noflush $i" within 60 dmsetup suspend --noflush t0
	ok "resume $i" within 60 dmsetup resume t0
done
holds "dirty data stay" t0 dirty -gt 0
for tail in "3 writeback idle_ms 3600000 lru 0" "1 writeback clock2q 0" "1 writethrough hotspot 0" \
	"1 writearound seqbypass 2 next lru" "1 passthrough lru 0" "3 writeback idle_ms 3600000 clock2q 0"; do
	ok "load '$tail'" within 60 dmsetup load t0 --table "$(table 98308 "$tail")"
	ok "resume" within 60 dmsetup resume t0
	get_status t0
	like "$tail" "[0-9] ${S[wanted]} .*${S[policy]} " "it is in force"
	sleep 0.5
done

# a table that is refused leaves the old one as it is
old=$(dmsetup table t0)
nok "load a table with another block size" dmsetup load t0 --table "0 98308 tier $SSD $HDD $META 64 0 lru 0"
nok "load a table with nonsense" dmsetup load t0 --table "0 98308 tier $SSD $HDD $META 128 1 quick lru 0"
ok "resume" within 60 dmsetup resume t0
is "$(dmsetup table t0)" "$old" "the old table is in force"
ok "load and clear" dmsetup load t0 --table "$(table 98308 1 passthrough lru 0)"
ok "clear" dmsetup clear t0
is "$(dmsetup table t0)" "$old" "the old table is in force"

# messages and status while the device goes down and up
for _ in 1 2 3 4 5; do
	msg t0 flush
	msg t0 policy lru
	msg t0 set idle_ms 3600000
	dmsetup status t0
done >/dev/null 2>&1 &
noise=$!
for i in 1 2 3; do
	ok "suspend $i beside messages" within 60 dmsetup suspend t0
	ok "resume $i" within 60 dmsetup resume t0
done
wait $noise
ok "the load goes on" kill -0 $load
kill -INT $load
wait $load
unlike "$(cat "$WORK/load.out")" "verify: bad|error=|err= *[1-9]" "everything it read was right"

# --- remove with dirty data, in bounded time, exactly as dirty, warm -----------------------------

ok "load" dmsetup load t0 --table "$(table 98308 3 writeback idle_ms 3600000 lru 0)"
ok "resume" dmsetup resume t0
flush t0
pattern "$WORK/data" 4
# what finds no free slot goes to the HDD
for _ in 1 2 3 4 5; do
	wr $T 2048 1024 "$WORK/data"
	get_status t0
	[ "${S[dirty]}" -lt 1024 ] || break
	sleep 1
done
dev_slow hdd0 300 300
get_status t0
dirty=${S[dirty]} slots=${S[dirty_slots]} used=${S[used]}
[ "$dirty" -ge 1024 ] || fail "1024 granules are dirty"
before=$SECONDS
ok "remove, with a slow HDD" within 60 dmsetup remove t0
[ $((SECONDS - before)) -lt $((30 * LIB_SLOW)) ]
is $? 0 "takes no more than a moment"
dev_ok hdd0
ok "check" "$DMTIER" check "$SSD" "$HDD" "$META"
ok "create" dmsetup create t0 --table "$(table 98308 3 writeback idle_ms 3600000 lru 0)"
read_status "status" t0
is "${S[dirty]} ${S[dirty_slots]}" "$dirty $slots" "exactly as dirty as before"
[ "${S[used]}" -le "$used" ] && [ "${S[used]}" -ge $((used - 16)) ]	# some were about to be freed
is $? 0 "${S[used]} of $used slots are used as before"
rd $T 2048 64
get_status t0
is "${S[read_hits]} ${S[read_misses]}" "64 0" "warm at once"

# --- the HDD grows ----------------------------------------------------------------------------

flush t0
tail_bytes=$((98308 * 512 - 98304 * 512))
head -c $tail_bytes "$WORK/data" >"$WORK/tail"
dd if="$WORK/tail" of=$T bs=$tail_bytes seek=24576 oflag=direct status=none
holds "the last, short granule is dirty" t0 dirty -ge 1
# what comes behind it on the HDD is not zero
dd if="$WORK/data" of=/dev/mapper/hdd0 bs=512 seek=98308 count=2048 oflag=direct status=none
klog_mark
ok "grow the HDD" resize hdd 131072
ok "load a longer table" dmsetup load t0 --table "$(table 131072 3 writeback idle_ms 3600000 lru 0)"
ok "resume" dmsetup resume t0
is "$(blockdev --getsz $T)" 131072 "it has grown"
like "$(klog)" "now [0-9]+ slots, 131072 sectors" "the log says so"
cmp -n $tail_bytes "$WORK/tail" $T 0 $((98304 * 512))
is $? 0 "what was dirty in the last granule is there"
cmp -n 1048576 "$WORK/data" $T 0 $((98308 * 512))
is $? 0 "and behind it what the HDD has"
wr $T 16000 16 "$WORK/data"
ok "the new part works" same "$WORK/data" $T 16000 16
flush t0
echo 1 >/proc/sys/vm/drop_caches
cmp -n $tail_bytes "$WORK/tail" $HDD 0 $((98304 * 512)) &&
	cmp -n 1048576 "$WORK/data" $HDD 0 $((98308 * 512))
is $? 0 "so after write back"
refused "a table shorter than before" "slow device can't shrink" \
	dmsetup load t0 --table "$(table 98308 1 writeback lru 0)"
refused_done

# --- the SSD grows and shrinks ----------------------------------------------------------------

wr $T 0 1024 "$WORK/data"
get_status t0
slots=${S[slots]} dirty=${S[dirty]}
ok "grow the SSD" resize ssd 49152
ok "load" dmsetup load t0 --table "$(table 131072 3 writeback idle_ms 3600000 lru 0)"
ok "resume" dmsetup resume t0
read_status "status" t0
is "${S[slots]}" $((slots + 128)) "128 more slots"
is "${S[dirty]}" "$dirty" "as dirty as before"
ok "the data are there" same "$WORK/data" $T 0 1024
# fill it all with dirty data, so that some are behind the end to be
msg t0 set dirty_high 99
msg t0 set dirty_low 98
dd if=/dev/zero of=$T bs=64k count=352 oflag=direct status=none
wr $T 0 1024 "$WORK/data"
get_status t0
isnt "${S[dirty]}" 0 "dirty data all over it"
dirty=${S[dirty]}
dmsetup suspend t0
ok "shrink the SSD" resize ssd 32768
ok "load" dmsetup load t0 --table "$(table 131072 7 writeback idle_ms 3600000 dirty_high 99 dirty_low 98 lru 0)"
klog_mark
nok "resume is refused" dmsetup resume t0
like "$(klog)" "hold dirty data: give it its old size and flush first" "the log says why"
ok "give it its old size" resize ssd 49152
ok "load" dmsetup load t0 --table "$(table 131072 7 writeback idle_ms 3600000 dirty_high 99 dirty_low 98 lru 0)"
ok "resume" dmsetup resume t0
holds "nothing is lost" t0 dirty -eq "$dirty"
ok "the data are there" same "$WORK/data" $T 0 1024
ok "flush" flush t0
dmsetup suspend t0
ok "shrink the SSD" resize ssd 32768
ok "load" dmsetup load t0 --table "$(table 131072 7 writeback idle_ms 3600000 dirty_high 99 dirty_low 98 lru 0)"
ok "resume" dmsetup resume t0
holds "fewer slots" t0 slots -eq "$slots"
echo 1 >/proc/sys/vm/drop_caches
ok "the data are there" same "$WORK/data" $T 0 1024
rand $T write 500 --size=16M
ok "remove" stop t0
ok "check" "$DMTIER" check "$SSD" "$HDD" "$META"

# --- a last granule larger than a page, a start that fails after the growth ------------------------

resize hdd 98307
ok "blocks of 1 MiB" format_set --block-size 1m
large() { echo "0 $1 tier $SSD $HDD $META 2048 ${*:2}"; }
ok "create" dmsetup create t0 --table "$(large 98307 3 writeback idle_ms 3600000 lru 0)"
dd if="$WORK/data" of=$T bs=1536 seek=32768 count=1 oflag=direct status=none
holds "the last granule has 3 sectors and is dirty" t0 dirty -eq 1
ok "remove" stop t0
resize hdd 131072
# others write to the disk, at its start and behind its old end
dd if="$WORK/data" of=/dev/mapper/hdd bs=512 seek=98307 count=2048 oflag=direct status=none
dd if=/dev/urandom of=/dev/mapper/hdd bs=4k seek=2 count=1 oflag=direct status=none
nok "refused, since there are dirty data" dmsetup create t0 --table "$(large 131072 3 writeback idle_ms 3600000 lru 0)"
ok "accepted" dmsetup create t0 --table "$(large 131072 4 writeback accept_changed_slow idle_ms 3600000 lru 0)"
cmp -n 1536 "$WORK/data" $T 0 $((98304 * 512))
is $? 0 "what was dirty in the last granule is there"
cmp -n 1048576 "$WORK/data" $T 0 $((98307 * 512))
is $? 0 "and behind it what the HDD has"
ok "remove" stop t0

# --- metadata too small to grow ---------------------------------------------------------------

resize ssd 8192
ok "format with a small SSD" format_set --block-size 4k
blocks=$(($(od -An -tu8 -j 152 -N 8 $META)))
dmsetup create small --table "0 $((blocks * 8)) linear $META 0"
META=/dev/mapper/small
small() { echo "0 131072 tier $SSD $HDD /dev/mapper/small 8 0 lru 0"; }
ok "create" dmsetup create t0 --table "$(small)"
wr $T 0 64 "$WORK/data"
dmsetup suspend t0
resize ssd 160000
dmsetup load t0 --table "$(small)"
klog_mark
nok "growing the SSD beyond what the metadata device holds" dmsetup resume t0
like "$(klog)" "metadata device has $blocks blocks of 4 KiB, [0-9]+ are needed" "the log says why"
resize ssd 8192
ok "with the old size" dmsetup load t0 --table "$(small)"
ok "it resumes" dmsetup resume t0
ok "the data are there" same "$WORK/data" $T 0 64
ok "remove" stop t0
done_testing
