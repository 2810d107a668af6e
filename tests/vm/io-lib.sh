# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What the io- cases share, on top of lib.sh.

# shellcheck source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

DMTIER=${TIER_BUILD%/build/*}/userspace/dmtier
IOSTRESS=${TIER_BUILD%/*}/iostress
T0=/dev/mapper/t0
SSD=/dev/mapper/ssd HDD=/dev/mapper/hdd META=/dev/mapper/meta	# also where setup_devs ran in a subshell

if [ ! -x "$IOSTRESS" ]; then
	IOSTRESS=$WORK/iostress
	gcc -O2 -pthread -o "$IOSTRESS" "$TIER_TOP/tests/vm/iostress.c" || fail_case "no iostress"
fi

# t0 goes before the devices below it
io_exit()
{
	[ -n "$LIB_DONE" ] || [ ! -b "$T0" ] || within 60 dmsetup remove --retry t0
	lib_exit
}
trap io_exit EXIT

# repeat COMMAND...	again and again beside what follows, until stop_repeating.  The loop is asked to end, not killed:
# the command that was under way would go on beside what follows.  Not below ok, which runs a subshell.
repeat()
{
	rm -f "$WORK/stop"
	(until [ -e "$WORK/stop" ]; do "$@" || exit; done) &
	REPEATER=$!
}
stop_repeating() { touch "$WORK/stop" && wait "$REPEATER"; }

# tier_format [OPTION...]
tier_format()
{
	"$DMTIER" format --force "$@" "$SSD" "$HDD" "$META" >"$WORK/format" 2>&1 || { cat "$WORK/format"; return 1; }
}

# tier_line MODE POLICY [FEATURE...]
tier_line()
{
	local mode=$1 policy=$2 f args=()

	shift 2
	for f; do args+=(--feature "$f"); done
	"$DMTIER" table --mode "$mode" --policy "$policy" "${args[@]}" "$SSD" "$HDD" "$META"
}

# tier_up MODE POLICY [FEATURE...]	device t0
tier_up()
{
	local line

	line=$(tier_line "$@") || return
	dmsetup create t0 --table "$line"
}

# st WORD	the value behind a word of the status, or one of the first fields by name
st()
{
	local names=(start length target health check settled mode block granule used free dirty_slots dirty journal) i w

	read -ra w < <(dmsetup status --noflush t0)
	for i in "${!names[@]}"; do
		[ "${names[i]}" != "$1" ] || { echo "${w[i]:-}"; return; }
	done
	for ((i = ${#names[@]}; i < ${#w[@]} - 1; i++)); do
		[ "${w[i]}" != "$1" ] || { echo "${w[i + 1]}"; return; }
	done
}

msg() { dmsetup message t0 0 "$@"; }

flush_ended() { [ "$(st flush)" != running ]; }
# after a flush that failed: blocks that can't be written count, until they are tried again, once a minute
some_unwritable()
{
	[ "$(st unwritable)" = 0 ] || return 0
	msg flush
	wait_until 60 flush_ended && [ "$(st unwritable)" != 0 ]
}
settled() { [ "$(st settled)" = "$1" ]; }

# flush_all		the flush message, and wait for its end
flush_all()
{
	msg flush && wait_until "${1:-120}" flush_ended && [ "$(st flush)" = idle ] && [ "$(st dirty)" = 0 ]
}

# set_mode MODE		and wait until that has settled
set_mode()
{
	msg mode "$1" && wait_until 120 settled "$1"
}

# same A B [BYTES]	two block devices hold the same
same()
{
	blockdev --flushbufs "$1" "$2"
	cmp ${3:+-n "$3"} "$1" "$2"
}

# flat DEVICE		checksum of its contents
flat()
{
	blockdev --flushbufs "$1"
	md5sum <"$1"
}

# queue_dir DEVICE	its directory of queue limits
queue_dir()
{
	local n

	n=$(stat -L -c '%Hr:%Lr' "$1") && echo "/sys/dev/block/$n/queue"
}

check_meta() { "$DMTIER" check "$SSD" "$HDD" "$META"; }

# fresh SSD HDD META [FORMAT-OPTION...]		new devices, formatted
fresh()
{
	local ssd=$1 hdd=$2 meta=$3

	shift 3
	[ ! -b $T0 ] || dmsetup remove --retry t0 || return
	drop_devs && setup_devs "$ssd" "$hdd" "$meta" && tier_format "$@" && rm -f "$WORK"/state*
}

# new_tier SSD HDD META BLOCK-SIZE MODE POLICY [FEATURE...]	all of it, up to t0
new_tier()
{
	local ssd=$1 hdd=$2 meta=$3 bs=$4

	shift 4
	fresh "$ssd" "$hdd" "$meta" --block-size "$bs" && tier_up "$@"
}
