# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For the tests of the tools: TAP, a scratch directory, loop devices, image files.
# Sourced; DMTIER is the program under test.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
DMTIER=${DMTIER:-$here/../../userspace/dmtier}
if [ ! -x "$DMTIER" ]; then
	echo "Bail out! $DMTIER is not built"
	exit 1
fi
DMTIER=$(cd "$(dirname "$DMTIER")" && pwd)/$(basename "$DMTIER")
# several tests may start at once
( flock 9 && make -s -C "$here" all ) 9>"$here/.lock" >&2 || { echo "Bail out! meta-edit is not built"; exit 1; }
META_EDIT=$here/build/meta-edit
# what is good in the middle of a command line is not good at the end of a test
export LSAN_OPTIONS=exitcode=99 ASAN_OPTIONS=exitcode=99:detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1

scratch=$(mktemp -d "${TMPDIR:-/tmp}/dmtier-test.XXXXXX")
loops=()
tests=0

cleanup()
{
	local l

	cd /
	for l in "${loops[@]}"; do
		losetup -d "$l" 2>/dev/null
	done
	rm -rf "$scratch"
}
trap cleanup EXIT
cd "$scratch" || exit 1

# ---- TAP ----

ok()		# STATUS DESCRIPTION
{
	tests=$((tests + 1))
	if [ "$1" = 0 ]; then
		echo "ok $tests - $2"
		return 0
	fi
	echo "not ok $tests - $2"
	return 1
}

diag()
{
	printf '%s\n' "$@" | sed 's/^/# /'
}

skip()		# REASON: one point
{
	tests=$((tests + 1))
	echo "ok $tests # SKIP $1"
}

is()		# GOT WANTED DESCRIPTION
{
	if [ "$1" = "$2" ]; then
		ok 0 "$3"
	else
		ok 1 "$3"
		diag "got    '$1'" "wanted '$2'"
	fi
}

like()		# TEXT REGEX DESCRIPTION
{
	if [[ $1 =~ $2 ]]; then
		ok 0 "$3"
	else
		ok 1 "$3"
		diag "got    '$1'" "wanted '$2'"
	fi
}

# jq takes some things for JSON that are none: what it took is read once more, at once, since python takes long to start.
done_testing()
{
	if [ -e "$scratch/.json" ]; then
		python3 -c 'import json, sys; [json.loads(text) for text in open(sys.argv[1]).read().split("\0")[:-1]]' \
			"$scratch/.json" 2>"$scratch/.err"
		ok $? "all JSON is JSON to the letter" || diag "$(<"$scratch/.err")"
	fi
	echo "1..$tests"
}

# ---- running ----

# Sets OUT, ERR and RC.
run()
{
	"$@" >"$scratch/.out" 2>"$scratch/.err"
	RC=$?
	OUT=$(<"$scratch/.out")
	ERR=$(<"$scratch/.err")
}

# Run a program with faults injected by strace into its calls on one file, or on any (""); leaks can't
# be looked for meanwhile.
traced()	# INJECTION FILE COMMAND...
{
	local only=()

	[ -z "$2" ] || only=(-P "$PWD/$2")
	ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 strace -f -o /dev/null "${only[@]}" -e trace="${1%%:*}" \
		-e inject="$1" "${@:3}"
}

# Run dmtier; its exit code must be the first argument.
dmtier_is()	# CODE DESCRIPTION ARGUMENT...
{
	local code=$1 what=$2

	shift 2
	run "$DMTIER" "$@"
	is "$RC" "$code" "$what" || true
	[ "$RC" = "$code" ] || diag "$OUT" "$ERR"
}

is_json()	# $OUT
{
	printf '%s\0' "$OUT" >>"$scratch/.json"
	jq -es 'length == 1' <<<"$OUT" >/dev/null 2>&1
}

json_ok()	# DESCRIPTION: of $OUT
{
	is_json
	ok $? "$1" || diag "$OUT"
}

field()		# JSON PATH: of $OUT
{
	jq -r "$1" <<<"$OUT"
}

# ---- devices ----

image()		# NAME SIZE
{
	rm -f "$1"
	truncate -s "$2" "$1"
}

# The usual three image files.
images()	# [SSD [HDD [META]]]
{
	image ssd "${1:-20M}"
	image hdd "${2:-64M}"
	image meta "${3:-4M}"
}

sums()
{
	cksum "$@" | cut -d" " -f1 | tr "\n" " "
}

can_loop()
{
	[ "$(id -u)" = 0 ] && losetup -f >/dev/null 2>&1
}

# Attach a file; sets LOOP.
attach()	# FILE [LOSETUP OPTION...]
{
	local file=$1

	shift
	LOOP=$(losetup -f --show "$@" "$file") || return
	loops+=("$LOOP")
}

detach()	# DEVICE
{
	losetup -d "$1"
}

# Open a device as a file system does, for itself alone, until let_go.
hold()		# DEVICE
{
	rm -f held let-go
	python3 - "$1" <<'PY' &
import os, sys, time
fd = os.open(sys.argv[1], os.O_RDWR | os.O_EXCL)
open('held', 'w').close()
while not os.path.exists('let-go'):
	time.sleep(0.05)
PY
	while [ ! -e held ]; do sleep 0.05; done
}

let_go()
{
	touch let-go
	wait
}

meta_edit()
{
	"$META_EDIT" "$@" || diag "meta-edit $* failed"
}

# byte offset of a metadata block
offset_of()	# META KIND [NUMBER [COPY]]
{
	echo $(($("$META_EDIT" "$1" where "${@:2}") * 4096))
}

# flip all bits of a byte
flip()		# FILE OFFSET
{
	local byte

	byte=$(od -An -tu1 -j "$2" -N 1 "$1" | tr -d ' ')
	printf '%b' "\\x$(printf %02x $((byte ^ 255)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

zero_block()	# FILE OFFSET
{
	dd if=/dev/zero of="$1" bs=4096 count=1 seek=$(($2 / 4096)) conv=notrunc status=none
}

copy_block()	# FILE FROM TO
{
	dd if="$1" of="$1" bs=4096 count=1 skip=$(($2 / 4096)) seek=$(($3 / 4096)) conv=notrunc status=none
}
