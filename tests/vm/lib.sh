# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What every case in tests/vm/cases starts with (bash, in the guest):
#
#	. "${0%/*}/../lib.sh"
#	load_modules
#	setup_devs 64 256 8
#	ok "table loads" dmsetup create t --table "..."
#	is "$(cat file)" "what it should be" "contents"
#	done_testing
#
# Everything a case makes goes away when it ends: device-mapper devices (all of them), the devices
# from setup_devs, mounts below $WORK, background jobs.  $WORK is a directory on tmpfs of its own.
# Comments `# vmtap: key=value` in a case's head are for the host, see vmtap.

CASE=${CASE:-$(basename "${0%.sh}")}
WORK=${TMPDIR:-/tmp}/$CASE
LIB_STATE=${TMPDIR:-/tmp}/.lib	# DEVICE.map: "backing sectors"; DEVICE.changed: table is not that
LIB_MARK="lib: case $CASE begins ($$)"
LIB_TESTS=0
LIB_FAILED=0
LIB_DONE=
NULLB=/sys/kernel/config/nullb

# --- TAP --------------------------------------------------------------------------------------

# diag TEXT...		comment lines, also from stdin when there is no TEXT
diag()
{
	if [ $# -gt 0 ]; then printf '%s\n' "$*"; else cat; fi | sed 's/^/# /'
}

# lib_point RESULT DESCRIPTION [DIRECTIVE]
lib_point()
{
	local desc=${2//#/\\#}

	LIB_TESTS=$((LIB_TESTS + 1))
	if [ "$1" = 0 ]; then
		echo "ok $LIB_TESTS - ${desc//$'\n'/ }${3:+ # $3}"
	else
		LIB_FAILED=$((LIB_FAILED + 1))
		echo "not ok $LIB_TESTS - ${desc//$'\n'/ }"
		diag "at ${BASH_SOURCE[2]##*/} line ${BASH_LINENO[1]}"
	fi
	return "$1"
}

pass() { lib_point 0 "$1"; }
fail() { lib_point 1 "$1"; }
skip() { lib_point 0 "$1" "SKIP ${2:-}"; }

# ok DESCRIPTION COMMAND [ARG...]	the command succeeds; its output shows only if it does not
ok()
{
	local desc=$1 out rc

	shift
	out=$("$@" 2>&1)
	rc=$?
	[ $rc = 0 ] && { lib_point 0 "$desc"; return; }
	lib_point 1 "$desc"
	diag "exit $rc: $*"
	[ -z "$out" ] || diag "$out"
	return 1
}

# nok DESCRIPTION COMMAND [ARG...]	the command fails, and not by a signal
nok()
{
	local desc=$1 out rc

	shift
	out=$("$@" 2>&1)
	rc=$?
	[ $rc != 0 ] && [ $rc -lt 126 ] && { lib_point 0 "$desc"; return; }
	lib_point 1 "$desc"
	diag "exit $rc, should fail: $*"
	[ -z "$out" ] || diag "$out"
	return 1
}

# is GOT WANT DESCRIPTION
is()
{
	[ "$1" = "$2" ] && { lib_point 0 "$3"; return; }
	lib_point 1 "$3"
	diag " got: $1"
	diag "want: $2"
	return 1
}

# code WANT DESCRIPTION COMMAND...	exit code; the output is in OUT
code()
{
	local want=$1 desc=$2 rc

	shift 2
	OUT=$("$@" 2>&1)
	rc=$?
	is $rc "$want" "$desc" || diag "$OUT"
}

# isnt GOT UNWANTED DESCRIPTION
isnt()
{
	[ "$1" != "$2" ] && { lib_point 0 "$3"; return; }
	lib_point 1 "$3"
	diag "got: $1"
	return 1
}

# like GOT REGEX DESCRIPTION		extended regular expression
like()
{
	[[ $1 =~ $2 ]] && { lib_point 0 "$3"; return; }
	lib_point 1 "$3"
	diag "  got: $1"
	diag "no match for: $2"
	return 1
}

# unlike GOT REGEX DESCRIPTION
unlike()
{
	[[ ! $1 =~ $2 ]] && { lib_point 0 "$3"; return; }
	lib_point 1 "$3"
	diag "  got: $1"
	diag "matches: $2"
	return 1
}

# Times are TIER_SLOW times as long where everything is slow.
LIB_SLOW=${TIER_SLOW:-1} LIB_SLOW=${LIB_SLOW%.*}
[ "${LIB_SLOW:-0}" -ge 1 ] || LIB_SLOW=1

# within SECONDS COMMAND [ARG...]	a program, killed when it takes longer
within()
{
	local limit=$(($1 * LIB_SLOW))

	shift
	timeout -k 10 $limit "$@"
}

# wait_until SECONDS COMMAND [ARG...]	succeeds as soon as the command does
wait_until()
{
	local end=$((SECONDS + $1 * LIB_SLOW))

	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.1
	done
}

# comes_to WANT DESCRIPTION COMMAND [ARG...]	what it prints is that, or becomes it soon
comes_to()
{
	local want=$1 desc=$2 end=$((SECONDS + 10 * LIB_SLOW)) got

	shift 2
	until got=$("$@" 2>&1) && [ "$got" = "$want" ]; do
		[ $SECONDS -lt $end ] || break
		sleep 0.1
	done
	[ "$got" = "$want" ] && { lib_point 0 "$desc"; return; }
	lib_point 1 "$desc"
	diag " got, to the end: $got"
	diag "want: $want"
	return 1
}

# The end of every case; without it the case counts as failed.
done_testing()
{
	LIB_DONE=1
	lib_cleanup || fail "cleanup: nothing is left behind"
	echo "1..$LIB_TESTS"
	[ $LIB_FAILED = 0 ]
	exit
}

# skip_case REASON			the whole case is of no use here
skip_case()
{
	skip "$CASE" "$1"
	done_testing
}

# fail_case REASON			the same, but it should be of use
fail_case()
{
	fail "$CASE: $1"
	done_testing
}

# --- Kernel log -------------------------------------------------------------------------------

# kmsg TEXT		a line of our own in the kernel log, also on the console
kmsg() { echo "<5>$*" >/dev/kmsg; }

# klog			the kernel's messages since the case began (or since the last klog_mark)
klog() { dmesg --notime | sed "1,/^${LIB_MARK//[()]/.}\$/d"; }

# klog_mark		klog starts anew from here
klog_mark()
{
	LIB_MARK="lib: mark $CASE $$ $EPOCHREALTIME"
	kmsg "$LIB_MARK"
}

# --- Devices ----------------------------------------------------------------------------------

# lib_sectors SIZE	MiB, or sectors with the suffix s
lib_sectors()
{
	case $1 in
	*s) echo "${1%s}" ;;
	*) echo $(($1 * 2048)) ;;
	esac
}

# lib_null_blk NAME SECTORS	makes a zeroed memory device, prints its path
lib_null_blk()
{
	local d=$NULLB/tier-$1

	[ -d $NULLB ] || modprobe null_blk nr_devices=0 || return
	mkdir "$d" || return
	echo $((($2 + 2047) / 2048)) >"$d/size"
	echo 1 >"$d/memory_backed"
	echo "${DEV_LBS:-512}" >"$d/blocksize"
	echo "${DEV_DISCARD:-1}" >"$d/discard"
	# room for all of it: who looks for room in a full cache may wait for another's page without letting him
	# run, for ever; then only flushes take pages, and of those there is one at a time
	echo "$((($2 + 2047) / 2048 + 16))" >"$d/cache_size"
	echo "${DEV_IRQMODE:-1}" >"$d/irqmode"
	echo "${DEV_DELAY_NS:-10000}" >"$d/completion_nsec"
	echo 1 >"$d/power" || { rmdir "$d"; return 1; }
	if [ -b "/dev/tier-$1" ]; then		# newer kernels name it after the directory
		echo "/dev/tier-$1"
	else
		echo "/dev/nullb$(cat "$d/index")"
	fi
}

# new_dev NAME SIZE	a fresh zeroed device /dev/mapper/NAME, of SIZE MiB or (1234s) sectors
#
# It is a dm-linear on a null_blk in memory, so that it can be made to fail at run time.  From the
# environment: DEV_LBS=512|4096 logical block size, DEV_DISCARD=0|1, DEV_IRQMODE=0|1|2 completion inline,
# by softirq, by timer (then DEV_DELAY_NS).
new_dev()
{
	local sectors backing

	sectors=$(lib_sectors "$2")
	backing=$(lib_null_blk "$1" "$sectors") && wrap_dev "$1" "$backing" "$sectors"
}

# wrap_dev NAME PATH [SECTORS]	the same around a device that is there, say a disk of QEMU's
wrap_dev()
{
	local sectors=${3:-$(blockdev --getsz "$2")}

	dmsetup create "$1" --table "0 $sectors linear $2 0" || return
	echo "$2 $sectors" >"$LIB_STATE/$1.map"
}

# setup_devs SSD HDD META [TIER...]	sizes as in new_dev; sets SSD, HDD, META, TIER1, TIER2, ...
setup_devs()
{
	local size n=0

	new_dev ssd "$1" && new_dev hdd "$2" && new_dev meta "$3" || return
	# shellcheck disable=SC2034
	SSD=/dev/mapper/ssd HDD=/dev/mapper/hdd META=/dev/mapper/meta
	shift 3
	for size; do
		n=$((n + 1))
		new_dev tier$n "$size" || return
		declare -g "TIER$n=/dev/mapper/tier$n"
	done
}

# drop_devs		removes what setup_devs and new_dev made, so that they can be called again
drop_devs()
{
	local f

	for f in "$LIB_STATE"/*.map; do
		[ -e "$f" ] || continue
		f=${f##*/}
		drop_dev "${f%.map}" || return
	done
}

# drop_dev NAME
drop_dev()
{
	local d=$NULLB/tier-$1 name

	for name in "$1" "$1-error"; do
		[ ! -b "/dev/mapper/$name" ] || dmsetup remove --retry "$name" || return
	done
	rm -f "$LIB_STATE/$1.map" "$LIB_STATE/$1.changed"
	[ ! -d "$d" ] || { echo 0 >"$d/power" && rmdir "$d"; }
}

# dev_table NAME TABLE	swaps the table of a device in use, with I/O in flight
dev_table()
{
	: >"$LIB_STATE/$1.changed"
	dmsetup load "$1" --table "$2" && dmsetup resume --noflush --nolockfs "$1"
}

# lib_failing NAME START SECTORS KIND...	a table line; KIND: read, write, flush, all
#
# dm-delay sends reads, writes and flushes to three devices: with no delay, and a device that fails
# everything in place of some of them, it fails exactly these, on every kernel.  That device is a
# dm-flakey, not dm-error: on a device without a write cache the block layer takes flushes for done.
lib_failing()
{
	local start=$2 len=$3 err=/dev/mapper/$1-error dev sectors kind r w f

	read -r dev sectors <"$LIB_STATE/$1.map"
	[ -b "$err" ] || dmsetup create "$1-error" --table "0 $sectors flakey $dev 0 0 100000" || return
	r=$dev w=$dev f=$dev
	shift 3
	for kind; do
		case $kind in
		read) r=$err ;;
		write) w=$err ;;
		flush) f=$err ;;
		all) r=$err w=$err f=$err ;;
		*) diag "lib_failing: $kind?"; return 1 ;;
		esac
	done
	echo "$start $len delay $r $start 0 $w $start 0 $f $start 0"
}

# dev_fail NAME KIND...	from now on these requests fail: read, write, flush, all
dev_fail()
{
	local name=$1 sectors table

	shift
	read -r _ sectors <"$LIB_STATE/$name.map"
	table=$(lib_failing "$name" 0 "$sectors" "$@") && dev_table "$name" "$table"
}

# dev_bad NAME START SECTORS KIND...	the same, but only in this range
dev_bad()
{
	local name=$1 start=$2 len=$3 backing sectors bad

	shift 3
	read -r backing sectors <"$LIB_STATE/$name.map"
	bad=$(lib_failing "$name" "$start" "$len" "$@") || return
	dev_table "$name" "$(
		[ "$start" = 0 ] || echo "0 $start linear $backing 0"
		echo "$bad"
		[ $((start + len)) -ge "$sectors" ] ||
			echo "$((start + len)) $((sectors - start - len)) linear $backing $((start + len))"
	)"
}

# dev_slow NAME READ_MS [WRITE_MS [FLUSH_MS]]	every request takes that much longer
dev_slow()
{
	local backing sectors

	read -r backing sectors <"$LIB_STATE/$1.map"
	dev_table "$1" "0 $sectors delay $backing 0 $2 $backing 0 ${3:-$2} $backing 0 ${4:-${3:-$2}}"
}

# dev_drop_writes NAME		writes are acknowledged and forgotten
dev_drop_writes()
{
	local backing sectors

	read -r backing sectors <"$LIB_STATE/$1.map"
	dev_table "$1" "0 $sectors flakey $backing 0 0 100000 1 drop_writes"
}

# dev_ok NAME			back to normal
dev_ok()
{
	local backing sectors

	read -r backing sectors <"$LIB_STATE/$1.map"
	dev_table "$1" "0 $sectors linear $backing 0" && rm -f "$LIB_STATE/$1.changed"
}

# need_disk NAME...		the case needs these disks of QEMU's (`# vmtap: disk=NAME:...`)
need_disk()
{
	local d

	for d; do
		[ -b "/dev/$d" ] || skip_case "no disk $d"
	done
}

# --- Modules ----------------------------------------------------------------------------------

lib_loaded() { awk '$1 ~ /^dm_tier/ { print $1 }' /proc/modules; }

# lib_insmod FILE		with what it depends on outside the tree
lib_insmod()
{
	local dep name

	name=$(basename "${1%.ko}")
	grep -q "^${name//-/_} " /proc/modules && return
	for dep in $(modinfo -F depends "$1" | tr , ' '); do
		[[ ${dep//-/_} == dm_tier* ]] || modprobe "$dep" || return
	done
	insmod "$1"
}

# load_modules [POLICY...]	dm-tier and these policies, or all of them
load_modules()
{
	local p

	: "${TIER_BUILD:?is not set}"
	lib_insmod "$TIER_BUILD/dm-tier/dm-tier.ko" || return
	if [ $# = 0 ]; then
		for p in "$TIER_BUILD"/policy/*.ko; do
			[ ! -e "$p" ] || lib_insmod "$p" || return
		done
	fi
	for p; do
		lib_insmod "$TIER_BUILD/policy/dm-tier-$p.ko" || return
	done
}

# unload_modules		all of them; fails when one is still in use
unload_modules()
{
	local m before

	while before=$(lib_loaded); [ -n "$before" ]; do
		for m in $before; do
			rmmod "$m" 2>/dev/null
		done
		[ "$(lib_loaded)" != "$before" ] || { echo "still loaded: ${before//$'\n'/ }"; return 1; }
	done
}

# --- Cleaning up ------------------------------------------------------------------------------

# Removes all device-mapper devices, the users of others first.
lib_remove_dm()
{
	local names left name f

	for f in "$LIB_STATE"/*.changed; do	# nothing should hang on a failing or slow device
		[ ! -e "$f" ] || { f=${f##*/}; dev_ok "${f%.changed}" >/dev/null 2>&1; }
	done
	dmsetup info -c --noheadings --separator ' ' -o name,suspended 2>/dev/null |
		while read -r name left; do
			[ "$left" != Suspended ] || dmsetup resume "$name"
		done
	names=$(dmsetup ls | awk '!/^No devices/ { print $1 }')
	while [ -n "$names" ]; do
		# those on top first, whatever their names: one that is in use fails and has its turn later
		for name in $names; do
			within 60 dmsetup remove "$name" >/dev/null 2>&1
		done
		left=$(dmsetup ls | awk '!/^No devices/ { print $1 }')
		if [ "$left" = "$names" ]; then
			for name in $left; do
				within 60 dmsetup remove --retry "$name"
			done
			left=$(dmsetup ls | awk '!/^No devices/ { print $1 }')
			[ -z "$left" ] || return 1
		fi
		names=$left
	done
}

# Leaves nothing of the case behind; also called between the cases, by runcases.sh.
lib_cleanup()
{
	local m r=0 d

	# shellcheck disable=SC2046
	kill -9 $(jobs -p) 2>/dev/null && wait 2>/dev/null
	while read -r _ m _; do
		[[ $m != "$WORK"/* ]] || umount "$m" || umount -l "$m" || r=1
	done < <(tac /proc/mounts)
	lib_remove_dm || r=1
	for d in "$NULLB"/tier-*; do
		[ ! -d "$d" ] || { echo 0 >"$d/power" && rmdir "$d"; } || r=1
	done
	rm -rf "$LIB_STATE" "$WORK"
	return $r
}

lib_exit()
{
	[ -z "$LIB_DONE" ] || return
	diag "the case ends without done_testing"
	lib_cleanup
	exit 1
}

if [ -z "${LIB_ONLY:-}" ]; then
	trap lib_exit EXIT
	trap 'exit 1' TERM
	mkdir -p "$LIB_STATE" "$WORK"
	kmsg "$LIB_MARK"
fi
