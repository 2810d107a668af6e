# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=600
# Status, table and messages: each message's effect, and malformed ones that change nothing.
# shellcheck source=../lib.sh
. "${0%/*}/../lib.sh"
# shellcheck source=ctl-lib.sh
. "${0%/*}/ctl-lib.sh"
# shellcheck disable=SC2119	# all of them
load_modules
setup_devs 16 64 4
T=/dev/mapper/t0
ok "format" format_set --block-size 64k
ok "create" start t0 --policy lru --feature "idle_ms 3600000 commit_ms 50"

# --- status and table -------------------------------------------------------------------------

read_status "the status parses to its last word" t0
is "${S[health]} ${S[needs_check]} ${S[mode]} ${S[wanted]} ${S[block]} ${S[granule]}" \
	"rw - writeback writeback 128 8" "its first words"
is "${S[len]} ${S[used]} ${S[dirty]} ${S[dirty_slots]} ${S[policy]}" "131072 0 0 0 lru" "its numbers, empty"
is "${S[set_idle_ms]} ${S[set_commit_ms]} ${S[set_dirty_high]} ${S[set_fill_sectors]}" "3600000 50 50 auto" "its tunables"
for k in read_hits read_misses write_hits write_misses bypass_seq bypass_policy bypass_mode bypass_error \
	bypass_partial bypass_noslot promotions demotions populates fills fill_sectors write_backs \
	write_back_sectors commits checkpoints discards read_errors write_errors \
	state_flush state_flush_left state_intent state_unwritable state_fast_errors state_jobs state_granules; do
	like "${S[$k]:-missing}" '^([0-9]+|idle)$' "status has $k"
done
like "$(dmsetup table t0)" "tier [0-9]+:[0-9]+ [0-9]+:[0-9]+ [0-9]+:[0-9]+ 128 5 writeback idle_ms 3600000 commit_ms 50 lru 0$" \
	"the table line"
ok "dm-tier says its version" bash -c "dmsetup targets | grep -Eq '^tier +v[0-9]+\.[0-9]+\.[0-9]+'"

# --- data messages ----------------------------------------------------------------------------

pattern "$WORK/data" 2
ok "write 2 MiB" wr $T 0 512 "$WORK/data"
read_status "status" t0
is "${S[dirty]}" 512 "512 dirty granules"
is "${S[dirty_slots]} ${S[used]}" "32 32" "in 32 slots"
ok "flush ends" flush t0
get_status t0
is "${S[state_flush]} ${S[dirty]} ${S[dirty_slots]}" "idle 0 0" "nothing is dirty"
ok "the slow device has the data" same "$WORK/data" "$HDD" 0 512
like "${S[write_back_sectors]}" "^4096$" "4096 sectors were written back"

ok "stats reset" msg t0 stats reset
read_status "status" t0
for k in read_hits read_misses write_hits write_misses write_backs write_back_sectors commits checkpoints; do
	is "${S[$k]}" 0 "$k is 0"
done
is "${S[used]}" 32 "the mapping stays"

before=${S[used]}
ok "promote" msg t0 promote 65536 1024
soon "8 blocks come" 20 has t0 used -eq $((before + 8))
get_status t0
is "${S[promotions]}" 8 "counted as promotions"
rd $T 8192 128
get_status t0
is "${S[read_hits]} ${S[read_misses]}" "128 0" "their reads hit"
ok "promote the part of a block" msg t0 promote 70001 1
soon "the whole block comes" 20 has t0 used -eq $((before + 9))
ok "promote what is there" msg t0 promote 65536 1024
soon "no job is left" 20 has t0 state_jobs -eq 0
holds "nothing more comes" t0 used -eq $((before + 9))

wr $T 8192 16 "$WORK/data"
holds "a write to a promoted block is dirty" t0 dirty -eq 16
ok "demote" msg t0 demote 65536 1024
soon "8 blocks go" 20 has t0 used -eq $((before + 1))
is "${S[dirty]}" 0 "the dirty one too"
ok "the slow device has its data" same "$WORK/data" "$HDD" 8192 16
msg t0 stats reset
rd $T 8192 1
rd $T 8320 1
get_status t0
is "${S[read_hits]} ${S[read_misses]}" "0 2" "reads there miss"

# invalidate: what the slow device got behind our back shows
pattern "$WORK/other" 1
dd if="$WORK/other" of="$HDD" bs=64k count=1 oflag=direct status=none
ok "a copy hides the slow device" same "$WORK/data" $T 0 16
ok "invalidate" msg t0 invalidate 0 128
ok "the slow device shows" same "$WORK/other" $T 0 16
dd if="$WORK/other" of="$HDD" bs=64k seek=1 skip=1 count=1 oflag=direct status=none
ok "invalidate the middle of a block" msg t0 invalidate 136 8
same "$WORK/data" $T 16 1 16 && same "$WORK/other" $T 17 1 17 && same "$WORK/data" $T 18 1 18
is $? 0 "just that granule was invalidated"
ok "invalidate the rest" msg t0 invalidate 0 $((LEN = 131072))

# pin: stays while everything else is washed out
msg t0 stats reset
ok "pin" msg t0 pin 0 256
soon "both blocks come" 20 has t0 state_jobs -eq 0
wait_until 10 has t0 promotions -ge 2
rand $T write 3000 --size=32M --offset=16M
msg t0 stats reset
rd $T 0 32
get_status t0
is "${S[read_hits]} ${S[read_misses]}" "32 0" "pinned blocks stay"
ok "demote leaves pinned blocks" msg t0 demote 0 256
wait_until 20 has t0 state_jobs -eq 0
msg t0 stats reset
rd $T 0 32
get_status t0
is "${S[read_hits]}" 32 "they are there"
ok "unpin" msg t0 unpin 0 $LEN
ok "demote" msg t0 demote 0 256
wait_until 20 has t0 state_jobs -eq 0
msg t0 stats reset
rd $T 0 1
rd $T 16 1
get_status t0
is "${S[read_hits]}" 0 "unpinned and demoted they are gone"
msg t0 set migration_rate 512
ok "pin a lot, slowly" msg t0 pin 0 16384
soon "it begins" 20 has t0 state_pinned -gt 2
ok "unpin ends it" msg t0 unpin 0 $LEN
holds "nothing is pinned" t0 state_pinned -eq 0
msg t0 set migration_rate 102400
soon "the rest is promoted" 30 has t0 state_jobs -eq 0
holds "and not pinned" t0 state_pinned -eq 0
msg t0 set migration_rate 10240
msg t0 set migration_rate 0
refused "nothing is promoted at no rate" "nothing is promoted while migration_rate is 0" msg t0 promote 0 128
refused "nor pinned at none" "nothing is promoted while migration_rate is 0" msg t0 pin 0 128
msg t0 set migration_rate 10240
ok "passthrough" msg t0 mode passthrough
refused "nothing is promoted in passthrough" "nothing is brought to the fast device in mode passthrough" msg t0 promote 0 128
refused "nor pinned" "nothing is brought to the fast device in mode passthrough" msg t0 pin 0 128
ok "demote works" msg t0 demote 0 16384
soon "and ends" 30 has t0 state_jobs -eq 0
ok "writeback" msg t0 mode writeback

# --- set --------------------------------------------------------------------------------------

for kv in "fill_sectors 64" "fill_sectors auto" "fill_sectors 0" "dirty_high 80" "dirty_low 7" "writeback_rate 5000" \
	"idle_ms 3500000" "migration_rate 20000" "reserve_slots 16" "commit_ms 20" "max_errors 99"; do
	# shellcheck disable=SC2086
	ok "set $kv" msg t0 set $kv
	get_status t0
	is "${S[set_${kv% *}]}" "${kv#* }" "the status shows it"
done
like "$(dmsetup table t0)" "dirty_high 80 dirty_low 7 writeback_rate 5000 idle_ms 3500000" "the table shows them"
ok "another policy" msg t0 policy seqbypass read_cutoff_sectors 4096 next clock2q small_percent 20
get_status t0
is "${S[policy]} ${S[policy_read_cutoff_sectors]} ${S[policy_small_percent]}" "seqbypass 4096 20" "with its arguments"
ok "set its tunable" msg t0 set write_cutoff_sectors 512
ok "set the wrapped one's" msg t0 set small_percent 30
ok "a mode" msg t0 mode writethrough
soon "reached" 60 is_mode t0 writethrough
table=$(dmsetup table t0)
like "$table" "seqbypass [0-9]+ read_cutoff_sectors 4096 write_cutoff_sectors 512 next clock2q small_percent 30" "the table shows all"
words=$(dmsetup status t0 | sed 's/.* state//')
ok "reload with the printed line" dmsetup load t0 --table "$table"
is "$(dmsetup table --inactive t0)" "$table" "the inactive table is the same line"
like "$(dmsetup status --inactive t0)" " tier inactive$" "its status says so"
ok "resume" dmsetup resume t0
is "$(dmsetup table t0)" "$table" "the line is the same again"
read_status "status" t0
is "${S[mode]} ${S[policy_small_percent]} ${S[set_max_errors]}" "writethrough 30 99" "and so are mode, policy, tunables"

# --- malformed ones ---------------------------------------------------------------------------

# what a message must not change, without the counters
state() { dmsetup status t0 | awk '{ print $4, $5, $6, $7, $8, $9, $10, $12, $13 }'; dmsetup table t0; }

n=0
before=$(state)
while IFS='|' read -r words regex; do
	n=$((n + 1))
	# shellcheck disable=SC2086
	refused "message '$words'" "${regex//./.*}" msg t0 $words 
done <<'LIST'
nonsense|unknown message .nonsense
mode|mode has too few words
mode quick|unknown mode .quick
mode tiered|a cache can't become tiered
evacuate 0|message evacuate belongs to tiered mode
set free_low 1|free_low belongs to tiered mode
mode writeback now|mode has too many words
flush now|flush has too many words
policy|policy has too few words
policy nosuch|unknown policy .nosuch.*available: default, lru
policy ../lru|not a name
policy lru colour|colour.*has no value
policy lru colour 5|lru has no tunable .colour.; it has none
policy clock2q colour 5|clock2q has no tunable .colour.; it has small_percent, window_percent, ghost_percent
policy clock2q small_percent 91|bad value .91
policy clock2q small_percent x|bad value .x
policy clock2q next lru|is no filter
policy seqbypass next|name must follow
policy seqbypass next nosuch|unknown policy
policy seqbypass next clock2q small_percent 0|bad value .0
set|set has too few words
set dirty_high|set has too few words
set dirty_high 50 60|set has too many words
set colour 5|unknown tunable .colour.: dm-tier has fill_sectors, .*max_errors; policy .* has
set dirty_high 100|dirty_high .100
set dirty_high x|dirty_high .x
set dirty_high 7|dirty_low 7 is not below
set dirty_low 80|dirty_low 80 is not below
set fill_sectors 7|fill_sectors .7
set commit_ms 60001|commit_ms .60001
set idle_ms -1|idle_ms .-1
set reserve_slots 99999999999999999999|reserve_slots
set read_cutoff_sectors x|bad value .x
set small_percent 91|bad value .91
promote|promote has too few words
promote 0|promote has too few words
promote 0 8 8|promote has too many words
promote x 8|.x. is not a number
promote 0 -8|.-8. is not a number
promote 0 0|empty
promote 131072 1|beyond the end
promote 0 131073|beyond the end
promote 18446744073709551615 2|beyond the end
promote 18446744073709551616 1|not a number
demote 131064 9|beyond the end
demote 1 0x8|not a number
pin 0 0|empty
pin 99999999 1|beyond the end
unpin 0|too few words
unpin 131072 1|beyond the end
invalidate 0 131073|beyond the end
invalidate all|too few words
stats|too few words
stats clear|unknown word .clear
stats reset now|too many words
LIST
refused_done
is "$(state)" "$before" "they have changed nothing"
[ $n -gt 50 ] || fail "the list was read"

# dirty data stand against invalidate: all or nothing
msg t0 mode writeback && wait_until 10 is_mode t0 writeback
msg t0 policy lru
wr $T 64 1 "$WORK/data"
wr $T 0 32
flush t0
wr $T 64 1 "$WORK/data"
get_status t0
used=${S[used]} dirty=${S[dirty]}
refused "invalidate over dirty data" "dirty data: flush first" msg t0 invalidate 0 $LEN
get_status t0
is "${S[used]} ${S[dirty]}" "$used $dirty" "nothing was invalidated"

# suspended
dmsetup suspend t0
refused "a message while suspended" "suspended" msg t0 mode passthrough
dmsetup resume t0
refused_done
get_status t0
is "${S[wanted]}" writeback "the mode is as it was"

# a block of which the middle is there already; a rate of less than a sector in 10 ms
flush t0
msg t0 demote 0 $LEN
soon "nothing is there" 30 has t0 used -eq 0
wr $T $((81920 / 8 + 7)) 1 "$WORK/data"
msg t0 stats reset
ok "promote around what is there" msg t0 promote 81920 128
soon "two copies come" 30 has t0 promotions -eq 2
rd $T $((81920 / 8)) 16
holds "the whole block is there" t0 read_misses -eq 0
ok "a low rate" msg t0 set migration_rate 40
ok "promote" msg t0 promote 98304 256
soon "it goes on" 30 has t0 promotions -eq 4
ok "remove" stop t0
ok "check" "$DMTIER" check "$SSD" "$HDD" "$META"
done_testing
