# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=600
# dmtier against running devices, tracepoints, what the modules say of themselves.
# shellcheck source=../lib.sh
. "${0%/*}/../lib.sh"
# shellcheck source=ctl-lib.sh
. "${0%/*}/ctl-lib.sh"

# --- modinfo ----------------------------------------------------------------------------------

for ko in "$TIER_BUILD"/dm-tier/dm-tier.ko "$TIER_BUILD"/policy/*.ko; do
	info=$(modinfo "$ko")
	for f in description version license author; do
		like "$info" "(^|"$'\n'")$f: +[^ ]" "${ko##*/} has a $f"
	done
done

setup_devs 16 64 4
T=/dev/mapper/t0

tier() { within 100 "$DMTIER" "$@"; }

# --- without the module -----------------------------------------------------------------------

ok "other cases' modules go" unload_modules
ok "format" format_set --block-size 64k
code 8 "create without the module" tier create t0 "$SSD" "$HDD" "$META"
like "$OUT" "unknown target type.*is the module loaded[?] modprobe dm-tier" "and what to do"
for d in "$SSD" "$META"; do dd if=/dev/zero of="$d" bs=1M count=4 oflag=direct status=none; done
# shellcheck disable=SC2119	# all of them
load_modules

# --- create, status ---------------------------------------------------------------------------

pattern "$WORK/data" 2
code 8 "create before format" tier create t0 "$SSD" "$HDD" "$META"
like "$OUT" "holds no tier metadata" "and why"
code 0 "format" tier format --force --block-size 64k "$SSD" "$HDD" "$META"
code 16 "create without devices" tier create t0
code 16 "create with an unknown mode" tier create --mode quick t0 "$SSD" "$HDD" "$META"
like "$OUT" "quick" "and why"
code 8 "create with an unknown policy" tier create --policy nosuch t0 "$SSD" "$HDD" "$META"
like "$OUT" "unknown policy.*nosuch.*clock2q" "and why, in the kernel's words"
ok "no device is left" no_dev t0
code 0 "create" tier create --policy "lru" --feature "idle_ms 3600000" t0 "$SSD" "$HDD" "$META"
code 8 "create again" tier create t1 "$SSD" "$HDD" "$META"
like "$OUT" "the metadata are in use by the device t0" "and why"
ok "no device is left" no_dev t1
code 8 "create of a name in use" tier create t0 "$SSD" "$HDD" "$META"
like "$OUT" "a device of this name exists already" "and why"
code 8 "format while active" tier format --force "$SSD" "$HDD" "$META"
code 8 "check while active" tier check "$SSD" "$HDD" "$META"
like "$OUT" "in use" "and why"
wr $T 0 512 "$WORK/data"
code 0 "status" tier status t0
like "$OUT" "t0" "names it"
like "$OUT" "writeback" "and its mode"
code 0 "status of all" tier status
like "$OUT" "t0" "shows it"
code 0 "long status" tier status --long t0
like "$OUT" "idle_ms +3600000" "has the tunables"
like "$OUT" "write_misses +[0-9]" "and the counters"
for v in "status none" "flush none" "remove none" "mode none writeback" "set none dirty_high 60" "promote none 0 64k"; do
	# shellcheck disable=SC2086
	code 8 "$v" tier $v
	like "$OUT" "dmtier [a-z]+: there is no device none$" "is told in the same words"
done
code 16 "create with an impossible name" tier create no/name "$SSD" "$HDD" "$META"
code 8 "status of another target" tier status ssd
like "$OUT" "not a tier device" "says so"
OUT=$(tier status --json t0 | jq -r '.devices[0] | [.name, .health, .mode, .wanted_mode, .dirty_granules, .dirty_bytes,
	.sectors, .tunables.idle_ms, .policy[0].name, .counters.read_errors] | join(" ")')
is "$OUT" "t0 rw writeback writeback 512 2097152 131072 3600000 lru 0" "status as JSON"

# --- messages ---------------------------------------------------------------------------------

code 0 "mode" tier mode t0 writethrough
soon "is reached" 60 is_mode t0 writethrough
code 16 "unknown mode" tier mode t0 quick
code 16 "no mode" tier mode t0
code 8 "mode of none" tier mode none writeback
code 0 "mode back" tier mode t0 writeback
code 0 "set" tier set t0 dirty_high 77
holds "is set" t0 set_dirty_high -eq 77
code 16 "set a bad value" tier set t0 dirty_high 100
code 8 "set an unknown key" tier set t0 colour 5
like "$OUT" "unknown tunable .colour.*dirty_high.*policy lru has none" "and which there are"
is "$(grep -o dirty_high <<<"$OUT" | wc -l)" 1 "once"
code 0 "policy" tier policy t0 clock2q small_percent 20
code 0 "policy in one word" tier policy t0 "seqbypass next clock2q small_percent 30"
get_status t0
is "${S[policy]} ${S[policy_small_percent]}" "seqbypass 30" "is in force"
code 8 "unknown policy" tier policy t0 nosuch
like "$OUT" "available" "and which there are"
code 0 "back to lru" tier policy t0 lru
get_status t0
used=${S[used]}
code 0 "promote" tier promote t0 16m 256k
soon "comes" 30 has t0 used -eq $((used + 4))
code 0 "demote" tier demote t0 32768 512
soon "goes" 30 has t0 used -eq "$used"
code 0 "pin" tier pin t0 0 64k
code 0 "unpin" tier unpin t0 0 64k
code 16 "beyond the end" tier promote t0 64m 4k
like "$OUT" "beyond the end" "and why"
code 16 "no range" tier demote t0 0
wr $T 0 16 "$WORK/data"
code 8 "invalidate over dirty data" tier invalidate t0 0 64k
like "$OUT" "flush first" "and why"
code 0 "flush" tier flush t0
holds "nothing is dirty" t0 dirty -eq 0
ok "the slow device has it" same "$WORK/data" "$HDD" 0 512
code 0 "invalidate" tier invalidate t0 0 64k
code 8 "flush of none" tier flush none

# a flush that can't end well
wr $T 512 16 "$WORK/data"
dev_fail hdd write
code 8 "flush with a broken HDD" tier flush t0
like "$OUT" "1 block|can't be written|write back failed" "and why"
holds "what is dirty stays dirty" t0 dirty -eq 16
get_status t0
if [ "${S[state_unwritable]}" = 0 ]; then	# it was just tried again, as once a minute
	tier flush t0
	get_status t0
fi
is "${S[state_flush]} ${S[state_unwritable]}" "failed 1" "the status says so"
dev_ok hdd
code 0 "flush once it is well again" tier flush t0
get_status t0
is "${S[dirty]} ${S[state_flush]} ${S[state_unwritable]}" "0 idle 0" "all is written"

# a rate cap does not hold up a flush
wr $T 0 512 "$WORK/data"
msg t0 set writeback_rate 1
before=$SECONDS
code 0 "flush with a cap of 1 KiB/s" tier flush t0
[ $((SECONDS - before)) -lt $((60 * LIB_SLOW)) ]
is $? 0 "is as fast as ever"

# --- remove -----------------------------------------------------------------------------------

exec 5<$T
code 8 "remove while open" tier remove t0
like "$OUT" "in use" "and why"
exec 5<&-
wr $T 0 16 "$WORK/data"
code 0 "remove with dirty data" tier remove t0
like "$OUT" "64.0? ?KiB.*stay on the SSD|64.*stay on the SSD" "says that they stay"
code 0 "check" tier check "$SSD" "$HDD" "$META"
code 0 "create" tier create t0 "$SSD" "$HDD" "$META"
code 0 "remove --flush" tier remove --flush t0
unlike "$OUT" "stay on" "nothing stays"
code 8 "remove what is not there" tier remove t0
code 0 "create" tier create --feature "idle_ms 3600000" t0 "$SSD" "$HDD" "$META"
holds "nothing is dirty" t0 dirty -eq 0
code 8 "remove what is no tier device" tier remove ssd
ok "it is still there" test -b "$SSD"

# --- trouble ----------------------------------------------------------------------------------

# somebody has a device for himself
stop t0
mkfs.ext4 -q -F "$HDD" && mkdir -p "$WORK/mnt" && mount "$HDD" "$WORK/mnt"
code 8 "create with a mounted HDD" tier create t0 "$SSD" "$HDD" "$META"
like "$OUT" "HDD $HDD is in use: mounted on .*mnt" "says who has it"
umount "$WORK/mnt"

# the HDD was written to while the SSD has newer data
ok "format" format_set --block-size 64k
code 0 "create" tier create --feature "idle_ms 3600000" t0 "$SSD" "$HDD" "$META"
wr $T 0 16 "$WORK/data"
code 0 "remove with dirty data" tier remove t0
wr "$HDD" 0 1 "$WORK/data"
code 8 "check after writing to the HDD" tier check "$SSD" "$HDD" "$META"
like "$OUT" "not damaged, but this HDD was changed.*accept_changed_slow" "is no damage"
code 8 "create after writing to the HDD" tier create t0 "$SSD" "$HDD" "$META"
like "$OUT" "the kernel says:.*tier: [0-9:]+: slow device was written to since the last clean stop.*accept_changed_slow" \
	"the target's own sentence"
unlike "$OUT" "preresume" "and not that resuming failed"
ok "no device is left" no_dev t0

# an SSD with errors
code 0 "create with accept_changed_slow" \
	tier create --feature "accept_changed_slow idle_ms 3600000" t0 "$SSD" "$HDD" "$META"
wr $T 0 16 "$WORK/data"
msg t0 set max_errors 1
dev_fail ssd all
rd $T 0 1 2>/dev/null
soon "is degraded" 30 has t0 health = degraded
code 0 "remove in health degraded" tier remove t0
like "$OUT" "warning: .*stay on the SSD, which has errors" "does not call that safe"
unlike "$OUT" "safely" "at all"
code 8 "check of an SSD that can't be read" tier check "$SSD" "$HDD" "$META"
like "$OUT" "not damaged, but this SSD cannot be read, and it holds data that the HDD lacks" "is no damage"
dev_ok ssd

# metadata that can't be written
ok "format" format_set --block-size 64k
code 0 "create" tier create --feature "idle_ms 3600000" t0 "$SSD" "$HDD" "$META"
wr $T 0 16 "$WORK/data"
dev_fail meta write
wr $T 512 16 "$WORK/data" 2>/dev/null
sync $T 2>/dev/null
soon "is read-only" 30 has t0 health = ro
for v in "flush t0" "remove --flush t0"; do
	# shellcheck disable=SC2086
	code 8 "$v in health ro" tier $v
	like "$OUT" "health is ro: the metadata can't be written; nothing is written back" "and why"
done
code 0 "remove in health ro" tier remove t0
like "$OUT" "warning: .*health ro: the metadata could not be written.*is not recorded.*--clear-needs-check" \
	"says what can't be promised"
unlike "$OUT" "safely" "and promises nothing"
dev_ok meta

# metadata that can't be written at the end
ok "format" format_set --block-size 64k
code 0 "create" tier create --feature "idle_ms 3600000" t0 "$SSD" "$HDD" "$META"
wr $T 0 16 "$WORK/data"
sync $T
dev_fail meta write
code 0 "remove whose stop fails" tier remove t0
like "$OUT" "warning: .*not stopped cleanly.*the kernel says" "is told"
unlike "$OUT" "safely" "and promises nothing"
dev_ok meta
ok "format" format_set --block-size 64k
code 0 "create" tier create --feature "idle_ms 3600000" t0 "$SSD" "$HDD" "$META"

# --- tracepoints ------------------------------------------------------------------------------

trace=/sys/kernel/tracing
mount -t tracefs none $trace 2>/dev/null
echo >$trace/trace
echo 1 >$trace/events/tier/enable
is "$(cat $trace/events/tier/enable)" 1 "events of tier"
rd $T 8192 1
rd $T 8192 1
wr $T 8192 1 "$WORK/data"
wr $T 9000 1 "$WORK/data"
sync $T
msg t0 promote 98304 128
wait_until 30 has t0 promotions -ge 1
flush t0
msg t0 demote 98304 128
wait_until 30 has t0 state_jobs -eq 0
msg t0 mode writethrough
wait_until 30 is_mode t0 writethrough
msg t0 set max_errors 1
dev_fail ssd all
rd $T 8192 1
wait_until 30 has t0 health = degraded
dev_ok ssd
echo 0 >$trace/events/tier/enable
events=$(cat $trace/trace)
for e in "tier_miss: .* R sector 65536 \+ 8" "tier_hit: .* R sector 65536 \+ 8" "tier_hit: .* W sector 65536 \+ 8" \
	"tier_miss: .* W sector 72000 \+ 8" "tier_commit: .* slots [0-9]+" "tier_promote: .* sector 98304" \
	"tier_demote: .* sector 98304" "tier_write_back: .* sector 65536 \+ 8" "tier_mode: .* from 0 to 1" \
	"tier_health: .* from 0 to 1"; do
	if [[ $events =~ $e ]]; then pass "event ${e%%:*}"; else fail "event $e"; diag "$(tail -50 <<<"$events")"; fi
done
stop t0

# --- the IMA form -----------------------------------------------------------------------------

ima=/sys/kernel/security/ima
mount -t securityfs none /sys/kernel/security 2>/dev/null
if echo "measure func=CRITICAL_DATA label=device-mapper" 2>/dev/null >$ima/policy; then
	start t0 --mode writearound --policy lru
	text=$(awk '$4 == "dm_table_load" || $5 == "dm_table_load" { print $NF }' $ima/ascii_runtime_measurements |
		python3 -c 'import sys; [print(bytes.fromhex(l.strip()).decode()) for l in sys.stdin]')
	like "$text" "target_name=tier,target_version=[0-9.]+,fast_device=[0-9]+:[0-9]+,slow_device=[0-9]+:[0-9]+,metadata_device=[0-9]+:[0-9]+,block_size=128,mode=writearound,policy=lru;" \
		"a table is measured"
	stop t0
else
	skip "a table is measured" "IMA takes no policy"
fi
done_testing
