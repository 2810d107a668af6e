# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtap: timeout=7200
# vmtap: ignore=Buffer I/O error|blk_update_request|I/O error, dev
#
# Every device x every kind of error x where x during what.  Of each combination is asked the same:
#
#	what was asked of the device comes back within LIMIT seconds, and so does the removal, errors or not
#	what was acknowledged with a flush is there afterwards, live or after a new start; what did not come back
#	as an error was done: a flush message that ends without "failed" has brought all to the slow device
#	the target says a bounded number of things in the kernel log, whatever the number of errors
#	without the errors it goes on, or it starts again, with dmtier check --clear-needs-check at most
#	in writethrough no error and no slowness of the fast device reaches anybody
#
# With TIER_LONG all of them, else those in `few`.  TIER_FAULTS="ssd write whole commit" tries that one only; a
# word may be a pattern.
# shellcheck source=../io-lib.sh
. "${0%/*}/../io-lib.sh"
load_modules

LIMIT=60
LINES=100	# in the kernel log, of one combination
SLOW_MS=1000
devices=(ssd hdd meta)
kinds=(read write flush all)
extents=(block range whole intermittent slow)
# I/O; I/O in writethrough; promotions; write back; flushes; loading; removal
phases=(io through promote writeback commit start stop)
few=("ssd read range io" "ssd write whole through" "ssd flush whole promote" "hdd all intermittent writeback"
	"meta write whole commit" "meta all slow start" "hdd flush range stop")

# On the device: A, 32 blocks that are durable before the errors begin; B, iostress's; C, written and flushed
# block by block while there are errors.  The fast device has 48 slots.  What is written to A and C is always
# from another place of one file with noise.
A_BLOCKS=32
B_FIRST=16384 B_SECTORS=8192
C_FIRST=128 C_BLOCKS=4
NOISE=$WORK/noise NOISE_BLOCKS=128
openssl enc -aes-128-ctr -pass pass:"$RANDOM" -nosalt </dev/zero 2>/dev/null | head -c $((NOISE_BLOCKS * 65536)) >"$NOISE"

wrong=()
told=""
check() { "$@" >"$WORK/out" 2>&1 || wrong+=("$*: $(tail -n 1 "$WORK/out")"); }
limited() { timeout -k 10 $LIMIT "$@"; }

# in blocks of 64 KiB: put NOISE-BLOCK BLOCK COUNT [FLAG], has NOISE-BLOCK BLOCK COUNT DEVICE
put() { limited dd if="$NOISE" of="$T0" bs=64k skip="$1" seek="$2" count="$3" oflag=direct conv=notrunc"${4-,fsync}" status=none; }
has() { cmp -n $(($3 * 65536)) -i $(($1 * 65536)):0 "$NOISE" <(dd if="$4" bs=64k skip="$2" count="$3" iflag=direct status=none); }
stress()
{
	"$IOSTRESS" run --seed $RANDOM --first $B_FIRST --sectors $B_SECTORS --seconds 1 --discards 1 "$@" "$T0" "$WORK/state"
}
b_is_right() { "$IOSTRESS" verify --first $B_FIRST --sectors $B_SECTORS "$1" "$WORK/state"; }
b_anew() { head -c $((B_SECTORS * 4)) /dev/zero >"$WORK/state" && dd if=/dev/zero of="$T0" bs=64k seek=$((B_FIRST / 128)) count=$((B_SECTORS / 128)) oflag=direct status=none; }
no_jobs() { [ "$(st jobs)" = 0 ]; }

# where the errors are: sets AT and LEN, empty for everywhere
place()
{
	AT='' LEN=''
	case $2:$1 in
	block:ssd) AT=$((2048 + 9 * 128 + 32)) LEN=8 ;;
	range:ssd) AT=$((2048 + 8 * 128)) LEN=2048 ;;
	block:hdd) AT=1032 LEN=8 ;;
	range:hdd) AT=1024 LEN=20480 ;;
	block:meta) AT=$((JOURNAL * 8)) LEN=8 ;;
	range:meta) AT=$((JOURNAL * 8)) LEN=$((JOURNAL_BLOCKS * 8)) ;;
	esac
}

toggle() { dev_fail "$1" "$2"; sleep 0.1; dev_ok "$1"; sleep 0.1; }

# errors_begin DEVICE KIND EXTENT
errors_begin()
{
	local read=0 write=0 flush=0

	place "$1" "$3"
	case $3 in
	block | range) dev_bad "$1" "$AT" "$LEN" "$2" ;;
	whole) dev_fail "$1" "$2" ;;
	intermittent) repeat toggle "$1" "$2" ;;
	slow)
		[[ $2 != read && $2 != all ]] || read=$SLOW_MS
		[[ $2 != write && $2 != all ]] || write=$SLOW_MS
		[[ $2 != flush && $2 != all ]] || flush=$SLOW_MS
		dev_slow "$1" $read $write $flush
		;;
	esac
}

errors_end()
{
	[ "$2" != intermittent ] || stop_repeating
	dev_ok "$1"
}

# the tier device as it should be, whatever there was before
start()
{
	[ ! -b $T0 ] || { limited dmsetup remove --retry t0 || wrong+=("remove"); }
	if ! dmsetup create t0 --table "$LINE" >"$WORK/start" 2>&1; then
		"$DMTIER" check --clear-needs-check "$SSD" "$HDD" "$META" >"$WORK/check" 2>&1
		told+=" needs_check"
		dmsetup create t0 --table "$LINE" >>"$WORK/start" 2>&1 || wrong+=("it does not start: $(tail -n 1 "$WORK/start")")
	fi
}

# --- what happens while there are errors; $1 is the device, $2 the kind -------------------------

during_io() { check stress --errors-ok; told+=" $(head -n 1 "$WORK/out")"; }
during_through() { check stress --syncs 20; told+=" $(head -n 1 "$WORK/out")"; }

during_promote()
{
	check limited dmsetup message t0 0 promote 0 $((A_BLOCKS * 128))
	wait_until $LIMIT no_jobs || wrong+=("the promotion does not end")
}

during_writeback()
{
	check limited dmsetup message t0 0 flush
	wait_until $LIMIT flush_ended || wrong+=("the flush does not end")
	FLUSHED=$(st flush)
	told+=" flush $FLUSHED,"
}

during_commit()
{
	local i

	for ((i = 0; i < C_BLOCKS; i++)); do
		put $((A + i)) $((C_FIRST + i)) 1 2>/dev/null && ACKED+=("$i")
	done
	told+=" ${#ACKED[@]} of $C_BLOCKS flushed,"
	check limited dmsetup remove --retry t0
}

during_start()
{
	limited dmsetup create t0 --table "$LINE" >"$WORK/out" 2>&1
	case $? in
	0) told+=" starts," ;;
	124 | 137) wrong+=("create takes too long") ;;
	*) told+=" is refused," ;;
	esac
}

during_stop()
{
	put "$A" $C_FIRST 4 '' 2>/dev/null
	check limited dmsetup remove --retry t0
}

# --- one combination ----------------------------------------------------------------------------

try()
{
	local dev=$1 kind=$2 extent=$3 phase=$4 i lines health

	wrong=() told='' FLUSHED='' ACKED=()
	if [ -n "$RESTART" ]; then start; fi
	RESTART=''
	A=$((RANDOM % (NOISE_BLOCKS - A_BLOCKS)))
	check put $A 0 $A_BLOCKS
	case $phase in
	through) check set_mode writethrough ;;
	promote) check flush_all; check msg demote 0 $((A_BLOCKS * 128)); wait_until 20 no_jobs ;;
	start) check dmsetup remove --retry t0 ;;
	esac

	klog_mark
	errors_begin "$dev" "$kind" "$extent"
	"during_$phase"
	errors_end "$dev" "$extent"
	lines=$(klog | grep -c 'device-mapper: tier')
	[ "$lines" -le $LINES ] || wrong+=("$lines lines in the kernel log")

	# what a flush had to do that nobody asked for may have failed: the next one tells.  Copies are made again
	if [ -b $T0 ] && ! limited sync "$T0" 2>/dev/null; then
		told+=" the next flush fails,"
		[[ $dev = meta || $phase = io || $phase = through ]] || wrong+=("the next flush fails")
	fi
	[ "$FLUSHED" != idle ] || check has $A 0 $A_BLOCKS "$HDD"
	if [ -b $T0 ]; then
		check has $A 0 $A_BLOCKS "$T0"
		[[ $phase != io && $phase != through ]] || check b_is_right "$T0"
		health=$(st health)
	fi
	if [[ ${health:-} != rw && ${health:-} != degraded ]]; then
		start
		check has $A 0 $A_BLOCKS "$T0"
		# what was not flushed there may be gone
		[[ $phase != io || -z ${health:-} ]] || check b_anew
	fi
	for i in "${ACKED[@]}"; do
		check has $((A + i)) $((C_FIRST + i)) 1 "$T0"
	done
	check flush_all
	check has $A 0 $A_BLOCKS "$HDD"
	[[ $phase != io && $phase != through ]] || check b_is_right "$HDD"
	[[ ${health:-rw} = rw && $phase != through ]] || RESTART=1
	[[ $dev = meta || ${health:-} != ro ]] || wrong+=("health ro")
	[ "${health:-}" != fail ] || wrong+=("health fail")
	is "${wrong[*]}" "" "$dev, $kind, $extent, $phase:$told $lines lines, ${health:-stopped}"
}

ok "create" new_tier 4 64 8 64k writeback lru "idle_ms 3600000"
LINE=$(tier_line writeback lru "idle_ms 3600000")
JOURNAL=$("$TIER_TOP/tests/tools/build/meta-edit" "$META" where journal 0)
JOURNAL_BLOCKS=$("$DMTIER" check --force --json "$META" 2>/dev/null | jq .journal_blocks)
like "$JOURNAL $JOURNAL_BLOCKS" "^[0-9]+ [0-9]+$" "where the journal is"

nr=0 tried=0 RESTART=''
for phase in "${phases[@]}"; do
	for device in "${devices[@]}"; do
		for kind in "${kinds[@]}"; do
			for extent in "${extents[@]}"; do
				what="$device $kind $extent $phase"
				[[ $phase != through || $device = ssd ]] || continue
				nr=$((nr + 1))
				if [ -n "${TIER_FAULTS:-}" ]; then
					# shellcheck disable=SC2053	# patterns
					[[ $what = $TIER_FAULTS ]] || continue
				elif [ -z "${TIER_LONG:-}" ]; then
					[[ " ${few[*]} " = *" $what "* ]] || continue
				fi
				tried=$((tried + 1))
				# shellcheck disable=SC2086
				try $what
			done
		done
	done
done
diag "$tried of $nr combinations"
isnt "$tried" 0 "something was tried"
ok "remove" dmsetup remove --retry t0
ok "metadata" check_meta
done_testing
