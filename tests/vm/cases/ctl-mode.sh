# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=600
# Modes: what each does, switching in all directions under load, events.
# shellcheck source=../lib.sh
. "${0%/*}/../lib.sh"
# shellcheck source=ctl-lib.sh
. "${0%/*}/ctl-lib.sh"
# shellcheck disable=SC2119	# all of them
load_modules
setup_devs 16 64 4
T=/dev/mapper/t0
MODES="writeback writethrough writearound passthrough"
ok "format" format_set --block-size 64k
ok "create" start t0 --policy lru --feature "idle_ms 3600000"

# --- each mode --------------------------------------------------------------------------------

pattern "$WORK/a" 1
pattern "$WORK/b" 1

mode() { msg t0 mode "$1" && wait_until 60 is_mode t0 "$1"; }

ok "write in writeback" wr $T 0 256 "$WORK/a"
holds "dirty" t0 dirty -eq 256
nok "the slow device does not have it" same "$WORK/a" "$HDD" 0 256
events=$(dmsetup info -c --noheadings -o events t0)
within 60 dmsetup wait t0 "$events" >/dev/null &
waiter=$!
ok "to writethrough" msg t0 mode writethrough
wait $waiter
is $? 0 "dmsetup wait returns"
soon "drained" 60 is_mode t0 writethrough
holds "nothing is dirty" t0 dirty -eq 0
ok "the slow device has it" same "$WORK/a" "$HDD" 0 256

msg t0 stats reset
ok "write hits in writethrough" wr $T 0 256 "$WORK/b"
holds "nothing is dirty" t0 dirty -eq 0
ok "the slow device has it" same "$WORK/b" "$HDD" 0 256
rd $T 0 256
get_status t0
is "${S[read_hits]} ${S[read_misses]}" "256 0" "and so has the fast one"

ok "writearound" mode writearound
msg t0 stats reset
ok "write" wr $T 0 128 "$WORK/a"
ok "the slow device has it" same "$WORK/a" "$HDD" 0 128
rd $T 0 1
rd $T 64 1
get_status t0
is "${S[read_hits]} ${S[read_misses]}" "0 2" "the copies are gone"
rd $T 0 1
rd $T 64 1
get_status t0
is "${S[read_hits]} ${S[read_misses]}" "2 2" "and come again by reading"

ok "passthrough" mode passthrough
get_status t0
used=${S[used]}
msg t0 stats reset
rd $T 8192 64
rd $T 8192 64
get_status t0
is "${S[read_hits]} ${S[used]}" "0 $used" "passthrough: nothing new comes"
holds "bypasses are counted" t0 bypass_mode -ge 64
ok "write" wr $T 128 128 "$WORK/a"
ok "the slow device has it" same "$WORK/a" "$HDD" 128 128
ok "what is read is right" same "$WORK/a" $T 128 128
ok "back to writeback" mode writeback

# --- the wanted mode shows while it drains ------------------------------------------------------

ok "write" wr $T 0 2048 /dev/zero
dev_slow hdd 0 5000
ok "to passthrough" msg t0 mode passthrough
get_status t0
is "${S[mode]} ${S[wanted]}" "writeback passthrough" "writeback, passthrough wanted"
like "${S[dirty]}" "^[1-9]" "and so many granules are left"
events=$(dmsetup info -c --noheadings -o events t0)
ok "changing one's mind" msg t0 mode writeback
soon "at once" 5 is_mode t0 writeback
soon "an event" 5 bash -c "[ \$(dmsetup info -c --noheadings -o events t0) -gt $events ]"
msg t0 mode writearound
dev_ok hdd
soon "drains" 60 is_mode t0 writearound
holds "nothing is dirty" t0 dirty -eq 0
mode writeback

# --- all directions under load ----------------------------------------------------------------

fio --name=v --thread --filename=$T --size=48M --rw=randrw --rwmixread=40 --bsrange=4k-32k --blockalign=4k \
	--ioengine=libaio --iodepth=8 --direct=1 --verify=crc32c --verify_fatal=1 --verify_backlog=64 \
	--time_based --runtime=$((300 * LIB_SLOW)) --fsync=200 --trigger-file="$WORK/trigger" >"$WORK/load.out" 2>&1 &
load=$!
sleep 2
for from in $MODES; do
	for to in $MODES; do
		[ "$from" != "$to" ] || continue
		msg t0 mode "$from"
		wait_until 60 is_mode t0 "$from" || fail "$from is reached"
		sleep 0.3
		ok "$from to $to under load" msg t0 mode "$to"
		soon "is reached" 60 is_mode t0 "$to"
		[ "$to" = writeback ] || is "${S[dirty]}" 0 "with nothing dirty"
		sleep 0.3
	done
done
# switching faster than it drains
for to in $MODES $MODES $MODES; do
	msg t0 mode "$to"
done
ok "the load goes on" kill -0 $load
kill -INT $load
wait $load
unlike "$(cat "$WORK/load.out")" "verify: bad|error=|err= *[1-9]" "everything it read was right"
[ -n "${S[mode]}" ] && soon "passthrough is reached" 60 is_mode t0 passthrough
sync
echo 3 >/proc/sys/vm/drop_caches
ok "the slow device alone is the volume" cmp $T "$HDD"
ok "remove" stop t0
ok "check" "$DMTIER" check "$SSD" "$HDD" "$META"

# --- the mode is remembered -------------------------------------------------------------------

like "$(line)" "128 1 passthrough" "dmtier table knows the mode"
ok "create without a mode" dmsetup create t0 --table "0 131072 tier $SSD $HDD $META 128 0 lru 0"
ok "it is the last one asked for" is_mode t0 passthrough
table=$(dmsetup table t0)
ok "load without a mode" dmsetup load t0 --table "0 131072 tier $SSD $HDD $META 128 0 lru 0"
unlike "$(dmsetup table --inactive t0)" "writeback" "the inactive table does not claim another one"
ok "resume" dmsetup resume t0
is "$(dmsetup table t0)" "$table" "still the same"

# --- health -----------------------------------------------------------------------------------

ok "writeback" mode writeback
wr $T 0 16 "$WORK/a"
flush t0
events=$(dmsetup info -c --noheadings -o events t0)
within 60 dmsetup wait t0 "$events" >/dev/null &
waiter=$!
dev_fail ssd all
msg t0 set max_errors 1
rd $T 0 16
wait $waiter
is $? 0 "a broken fast device is an event"
soon "degraded" 10 has t0 health = degraded
echo 3 >/proc/sys/vm/drop_caches
ok "reads come from the slow device" same "$WORK/a" $T 0 16
ok "writes go there" wr $T 0 16 "$WORK/b"
ok "and arrive" same "$WORK/b" "$HDD" 0 16
dev_ok ssd
ok "remove" stop t0
done_testing
