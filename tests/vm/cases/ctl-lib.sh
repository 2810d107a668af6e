# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What the cases ctl-*.sh share: a formatted set of devices, the status word by word.  Not a case.

DMTIER=${TIER_TOP:?is not set}/userspace/dmtier
declare -A S=()		# the status, see get_status

# format_set [OPTION...]	formats SSD, HDD, META anew
format_set() { "$DMTIER" format --force "$@" "$SSD" "$HDD" "$META"; }

# line [OPTION...]		the table line of SSD, HDD, META
line() { "$DMTIER" table "$@" "$SSD" "$HDD" "$META"; }

# start NAME [OPTION...]	creates it
start()
{
	local name=$1

	shift
	dmsetup create "$name" --table "$(line "$@")"
}

# stop NAME
stop() { dmsetup remove --retry "$1"; }

# take_section PREFIX		"<#words> <key> <value>..." from WORDS into S
take_section()
{
	local n=${WORDS[0]} i

	[[ $n =~ ^[0-9]+$ ]] && [ "$n" -lt ${#WORDS[@]} ] && [ $((n % 2)) = 0 ] || return
	for ((i = 1; i < n; i += 2)); do
		S[$1${WORDS[i]}]=${WORDS[i + 1]}
	done
	WORDS=("${WORDS[@]:n + 1}")
}

# parse_status WORD...		in the documented order, nothing may be left over
parse_status()
{
	local -a WORDS=("$@")

	S=([start]=$1 [len]=$2 [target]=$3)
	[ "$3" = tier ] && [ $# -gt 14 ] || return
	S[health]=$4 S[needs_check]=$5 S[mode]=$6 S[wanted]=$7 S[block]=$8 S[granule]=$9
	WORDS=("${WORDS[@]:9}")
	S[used]=${WORDS[0]%/*} S[slots]=${WORDS[0]#*/} S[free]=${WORDS[1]} S[dirty_slots]=${WORDS[2]}
	S[dirty]=${WORDS[3]} S[journal_used]=${WORDS[4]%/*} S[journal]=${WORDS[4]#*/}
	WORDS=("${WORDS[@]:5}")
	take_section '' && take_section state_ && take_section set_ || return
	S[policy]=${WORDS[0]}
	WORDS=("${WORDS[@]:1}")
	S[policy_args]="${WORDS[*]:1}"
	take_section policy_ && [ ${#WORDS[@]} = 0 ]
}

# get_status NAME		fills S
get_status()
{
	local text

	text=$(dmsetup status "$1") || return
	# shellcheck disable=SC2086
	parse_status $text
}

# has NAME KEY OP VALUE		a number of the status; OP as in test
has()
{
	get_status "$1" && test "${S[$2]}" "$3" "$4"
}

# is_mode NAME MODE		wanted and reached
is_mode() { get_status "$1" && [ "${S[mode]} ${S[wanted]}" = "$2 $2" ]; }

# msg NAME WORD...
msg()
{
	local name=$1

	shift
	dmsetup message -- "$name" 0 "$@"
}

# flush NAME [SECONDS]		and wait until nothing is dirty
flush() { msg "$1" flush && wait_until "${2:-60}" has "$1" dirty -eq 0 && wait_until 10 flush_over "$1"; }
flush_over() { get_status "$1" && [ "${S[state_flush]}" = idle ]; }

# Direct I/O in blocks of 4 KiB: rd/wr DEVICE FIRST COUNT (in 4 KiB)
rd() { dd if="$1" of=/dev/null bs=4k skip="$2" count="$3" iflag=direct status=none; }
wr() { dd if="${4:-/dev/zero}" of="$1" bs=4k seek="$2" count="$3" oflag=direct status=none; }

# same FILE DEVICE [FIRST [COUNT [FILE_FIRST]]]	the file's beginning is there; in 4 KiB, past the page cache
same()
{
	local n=${4:-$((($(stat -c %s "$1") + 4095) / 4096))}

	cmp -n $((n * 4096)) <(dd if="$1" bs=4k skip="${5:-0}" count="$n" status=none) \
		<(dd if="$2" bs=4k skip="${3:-0}" count="$n" iflag=direct status=none)
}

# rand DEVICE read|write COUNT [FIO OPTION...]	random 4 KiB requests
rand()
{
	local dev=$1 rw=$2 n=$3

	shift 3
	fio --name=r --thread --filename="$dev" --rw=rand"$rw" --bs=4k --ioengine=libaio --iodepth=16 --direct=1 \
		--number_ios="$n" --norandommap=1 --randrepeat=1 --minimal "$@" >"$WORK/fio.out" 2>&1 ||
		{ diag <"$WORK/fio.out"; return 1; }
}

# pattern FILE MIB		random data, cheaply
pattern() { openssl enc -aes-128-ctr -pass pass:"$RANDOM" -nosalt </dev/zero 2>/dev/null | head -c "${2}M" >"$1"; }

# read_status DESCRIPTION NAME	fills S
read_status() { get_status "$2"; lib_point $? "$1"; }

# holds DESCRIPTION NAME KEY OP VALUE	as has; fills S
holds()
{
	has "$2" "$3" "$4" "$5" && { lib_point 0 "$1"; return; }
	lib_point 1 "$1"
	diag "$3 is '${S[$3]}', should be $4 $5"
}

# soon DESCRIPTION SECONDS COMMAND...	it succeeds within that time; fills S, which ok can't
soon()
{
	local desc=$1

	shift
	wait_until "$@" && { lib_point 0 "$desc"; return; }
	lib_point 1 "$desc"
	shift
	diag "does not come true: $*"
	diag "$(dmsetup status t0 2>&1)"
}

# refused DESCRIPTION REGEX COMMAND...	it fails, with a sentence of the target in the kernel log
#
# Looking at the log is left to refused_done, for all of them at once: processes are slow here.
REFUSED_DESC=() REFUSED_REGEX=() REFUSED_OUT=() REFUSED_NR=0 REFUSED_MARK=$LIB_MARK
refused()
{
	local n=$((REFUSED_NR++)) rc

	REFUSED_DESC[n]=$1 REFUSED_REGEX[n]=$2
	shift 2
	kmsg "refused $n:"
	"$@" >"$WORK/refused" 2>&1
	rc=$?
	REFUSED_OUT[n]="$rc $* $(<"$WORK/refused")"
	[ $rc != 0 ] && [ $rc -lt 126 ]
}

refused_done()
{
	local -a log=()
	local text n=-1 rc

	while read -r text; do
		if [[ $text =~ ^refused\ ([0-9]+):$ ]]; then
			n=${BASH_REMATCH[1]}
		elif [ "$n" -ge 0 ]; then
			log[n]+=$text$'\n'
		fi
	done < <(LIB_MARK=$REFUSED_MARK klog)
	for n in "${!REFUSED_DESC[@]}"; do
		rc=${REFUSED_OUT[n]%% *}
		if [ "$rc" = 0 ] || [ "$rc" -ge 126 ]; then
			fail "${REFUSED_DESC[n]}: is refused"
		elif [[ ! ${log[n]:-} =~ tier:.*${REFUSED_REGEX[n]} ]]; then
			fail "${REFUSED_DESC[n]}: the kernel log says why"
			diag "no match for: ${REFUSED_REGEX[n]}"
		else
			pass "${REFUSED_DESC[n]}: refused"
			continue
		fi
		diag "${REFUSED_OUT[n]}"
		diag "${log[n]:-nothing in the kernel log}"
	done
	REFUSED_DESC=() REFUSED_REGEX=() REFUSED_OUT=()
}

# no_dev NAME			the device is not there
no_dev() { [ ! -b "/dev/mapper/$1" ] && ! dmsetup info "$1" >/dev/null 2>&1; }

# sums				of what is on the three devices
sums() { cksum "$SSD" "$HDD" "$META"; }
