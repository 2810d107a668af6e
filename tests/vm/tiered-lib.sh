# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What the tiered- cases share, on top of io-lib.sh: a tiered device t0.

# shellcheck source=io-lib.sh
. "${BASH_SOURCE[0]%/*}/io-lib.sh"

# further tiers; kept in a file, since what ok runs is in a subshell
get_tiers() { mapfile -t TIERS <"$WORK/tiers"; }

# fresh_tiers BLOCK-SIZE SSD HDD META [TIER...]		new devices of these sizes, formatted
fresh_tiers()
{
	local bs=$1 i

	shift
	[ ! -b $T0 ] || dmsetup remove --retry t0 || return
	drop_devs && setup_devs "$@" || return
	for ((i = 1; i <= $# - 3; i++)); do echo "/dev/mapper/tier$i"; done >"$WORK/tiers"
	get_tiers
	rm -f "$WORK"/state*
	"$DMTIER" format --force --mode tiered --block-size "$bs" "$SSD" "$HDD" "$META" "${TIERS[@]}" >"$WORK/format" 2>&1 ||
		{ cat "$WORK/format"; return 1; }
}

# tiers_up [POLICY [FEATURE...]]
tiers_up()
{
	local line f args=()

	get_tiers
	[ $# = 0 ] || args+=(--policy "$1")
	for f in "${@:2}"; do args+=(--feature "$f"); done
	line=$("$DMTIER" table --mode tiered "${args[@]}" "$SSD" "$HDD" "$META" "${TIERS[@]}") || return
	dmsetup create t0 --table "$line"
}

# new_tiers BLOCK-SIZE "SIZES" [POLICY [FEATURE...]]
new_tiers()
{
	local bs=$1 sizes=$2

	shift 2
	# shellcheck disable=SC2086
	fresh_tiers "$bs" $sizes && tiers_up "$@"
}

# tier NUMBER FIELD		of the tiers' part of the status: slots used reads writes landings in out pinned errors state stuck
tier()
{
	local fields=(slots used reads writes landings in out pinned errors state stuck) w i n

	read -ra w < <(dmsetup status --noflush t0)
	for ((n = 0; n < ${#w[@]}; n++)); do
		[ "${w[n]}" != tiers ] || break
	done
	for i in "${!fields[@]}"; do
		[ "${fields[i]}" != "$2" ] || echo "${w[n + 2 + $1 * ${#fields[@]} + i]}"
	done
}

# where FIRST COUNT		lines "first sectors tier pinned"
where() { msg where "$1" "$2"; }

# on_tier TIER FIRST COUNT	of these blocks of 64 KiB, how many are there
on_tier() { where $(($2 * 128)) $(($3 * 128)) | awk -v t="$1" '$3 == t { n += $2 } END { print n / 128 + 0 }'; }

no_jobs() { [ "$(st jobs)" = 0 ]; }
check_tiers() { get_tiers && "$DMTIER" check "$SSD" "$HDD" "$META" "${TIERS[@]}"; }
zeros() { cmp -n "$3" -i "$(($2 * 512)):0" "$1" /dev/zero; }	# DEVICE FIRST-SECTOR BYTES

# Blocks of 64 KiB of the device are as those of the file.  No more than these is read: with buffered reads newer
# kernels fail all of a large folio if some of it can't be read.
same_blocks()	# DEVICE BLOCK COUNT FILE [BLOCK-OF-FILE]
{
	cmp -n $(($3 * 65536)) -i "0:$((${5:-$2} * 65536))" \
		<(dd if="$1" bs=64k skip="$2" count="$3" iflag=direct status=none) "$4"
}
