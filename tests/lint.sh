#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Static checks.  Prints each one's findings; fails if there are any.  What a check needs and isn't there is
# named, and the check left out.
#
#	tests/lint.sh [--tap] [--long] [CHECK...]
#
#	--tap	as a test for tests/run
#	--long	also those that take minutes
#	CHECK	only these; tests/lint.sh --list names them
#
# environment: KVER, KDIR, JOBS as in the Makefile
cd "$(dirname "$0")/.." || exit
top=$PWD

checks="shell python man licence versions locks reliability checkpatch kerneldoc cppcheck analyzer kernel clang"
long_checks="coccinelle smatch"

KVER=${KVER:-$(printf '%s\n' /lib/modules/*/build/Makefile | sed -n 's|^/lib/modules/\([^*]*\)/build/Makefile$|\1|p' | sort -V | tail -n 1)}
KDIR=${KDIR:-/lib/modules/$KVER/build}
JOBS=${JOBS:-$(nproc)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Files of the tree, without what was built.
files()
{
	find . \( -path ./.git -o -path ./build -o -name __pycache__ \) -prune -o -type f "$@" -print
}

is_script()	# FILE INTERPRETER-REGEX
{
	head -n 1 "$1" | grep -qE "^#!.*\b($2)\b"
}

# A check returns 0 if all is well and prints nothing then, 77 and the reason if it can't be done here.
need()		# COMMAND...
{
	local c

	for c; do
		command -v "$c" >/dev/null || { echo "no $c"; return 77; }
	done
}

scripts()
{
	tree=$(tests/kernel-source.sh --scripts 2>/dev/null) || { echo "the kernel's source can't be had"; return 77; }
}

# Code that is compiled into modules, with the tests' own modules.
kernel_code() { files \( -path './dm-tier/*.[ch]' -o -path './policy/*.[ch]' -o -path './tests/vm/mdtest/*.[ch]' \
	-o -path './tests/debug/trouble/*.[ch]' \) ! -name '*.mod.c' | sort; }

# --- Everything but C ---------------------------------------------------------------------------

check_shell()
{
	local f list=()

	need shellcheck || return
	while read -r f; do
		if [[ $f == *.sh ]] || is_script "$f" 'sh|bash|dash'; then list+=("$f"); fi
	done < <(files | grep -vE '\.(o|ko|so|a|img|bin|xz|zst)$')
	printf "%s\n" "${list[@]}" | xargs -P "$JOBS" -n 6 shellcheck
}

check_python()
{
	local f list=()

	while read -r f; do
		if [[ $f == *.py ]] || is_script "$f" python3; then list+=("$f"); fi
	done < <(files | grep -vE '\.(o|ko|so|a|img|bin|xz|zst)$')
	python3 -c 'import ast, sys; [ast.parse(open(f).read(), f) for f in sys.argv[1:]]' "${list[@]}"
}

check_man()
{
	local f r=0

	need mandoc || return
	while read -r f; do
		mandoc -T lint -W warning "$f" || r=1
	done < <(files -path './docs/*.[1-8]')
	return "$r"
}

check_licence()
{
	local f r=0

	while read -r f; do
		head -n 3 "$f" | grep -q 'SPDX-License-Identifier' || { echo "$f: no SPDX line"; r=1; }
	done < <(files \( -name '*.[ch]' ! -name '*.mod.c' -o -name '*.sh' -o -name '*.py' -o -name '*.t' -o -name Makefile \
		-o -name Kbuild \) | while read -r f; do git check-ignore -q "$f" || echo "$f"; done)
	return "$r"
}

# docs/reliability.md: each invariant names its tests, what it names is there, and each mutant of the module is named.
check_reliability()
{
	local doc=docs/reliability.md name text i r=0 number=', [0-9]+(-[0-9]+)?'

	list() { grep -oE '[a-z0-9-]+'; }
	missing() { echo "$doc: $1"; r=1; }
	for ((i = 1; i <= 13; i++)); do
		grep -qE "^\| I$i \| [^ ]" "$doc" || missing "no tests of I$i"
	done
	while read -r name; do		# some are built
		[ -e "$name" ] || [ -e "${name%.t}.c" ] || grep -qs "^${name##*/}\b" "${name%/*}/Makefile" || missing "no $name"
	done < <(grep -oE '\btests/[A-Za-z0-9/_-]+(\.[a-z]+)?' "$doc" | sort -u)
	while read -r name; do
		[ -e "tests/vm/cases/$name.sh" ] || [ -e "tests/long/$name.t" ] || missing "no case $name"
	done < <(grep -oE '\b(io|ctl|powercut)-[a-z]+' "$doc" | sort -u)
	while read -r name; do
		grep -q "{ \"$name\"," tests/vm/powercut/script.c || missing "no script $name"
	done < <(grep '^| I' "$doc" | grep -oE 'scripts? [a-z-]+(, [a-z-]+)*' | sed 's/^[^ ]* //' | list)
	while read -r name text; do
		grep -qF -- "${text:1:-1}" "tests/vm/cases/$name.sh" || missing "$name has no $text"
	done < <(grep -oE '\b(io|ctl)-[a-z]+ "[^"]+"' "$doc")
	grep -oE "module mutants? [0-9]+(-[0-9]+)?($number)*" "$doc" | sed 's/^[^0-9]*//' | list | sort -n | uniq >"$work/named"
	tests/vm/powercut/mutate --list | cut -d' ' -f1 | sort -n | cmp -s - "$work/named" ||
		missing "module mutants named: $(paste -sd ' ' <"$work/named")"
	return "$r"
}

# --- C ------------------------------------------------------------------------------------------

# differences between kernel versions stand in one header
check_versions()
{
	local out

	out=$(kernel_code | grep -v '/tier-compat\.h$' | xargs grep -nE 'LINUX_VERSION_CODE|KERNEL_VERSION' /dev/null)
	[ -z "$out" ] || { printf '%s\n' "$out"; return 1; }
}

# a function __name() is called with a lock held, and asserts that
check_locks()
{
	local out

	# shellcheck disable=SC2046
	out=$(awk '
		FNR == 1 { name = "" }
		/^[a-z].*[ *]__[a-z0-9_]+\(/ && !/;$/ {
			match($0, /[ *]__[a-z0-9_]+\(/)
			name = substr($0, RSTART + 1, RLENGTH - 2)
			line = FNR
			asserts = 0
		}
		name && /(lockdep_assert_held|tier_assert_locked)\(/ { asserts = 1 }
		/^}/ {
			if (name && !asserts) printf "%s:%d: %s() does not assert the lock it wants\n", FILENAME, line, name
			name = ""
		}' $(kernel_code | grep -v '/tests/'))
	[ -z "$out" ] || { printf '%s\n' "$out"; return 1; }
}

# Left out, each for a reason:
#	BIT_MACRO			sizes that are powers of two are no bits
#	lines up to 120 columns		are the style of this tree
#	long lines of DMERR("... etc.	are logging, as checkpatch allows for the functions that it knows
#	tier-compat.h: versions		are what it is there for
#	tier-trace.h: layout		is that of all the kernel's files of trace events
check_checkpatch()
{
	local out

	need perl || return
	scripts || return
	# it leaves a file where it runs
	# shellcheck disable=SC2046
	out=$(cd "$work" && perl "$tree/scripts/checkpatch.pl" --no-tree --strict --terse --no-summary --max-line-length=120 \
		--ignore BIT_MACRO --show-types -f $(cd "$top" && kernel_code | sed "s|^\.|$top|") 2>&1 |
		grep -v 'tier-compat\.h.*\(LINUX_VERSION_CODE\|CONSTANT_COMPARISON\)' |
		grep -v 'tier-trace\.h.*\(OPEN_ENDED_LINE\|PARENTHESIS_ALIGNMENT\|SPACING\)' |
		while IFS= read -r line; do
			if [[ $line =~ ^([^:]+):([0-9]+):.*LONG_LINE ]] &&
			   sed -n "${BASH_REMATCH[2]}p" "${BASH_REMATCH[1]}" | grep -qE '^\s*DM(ERR|WARN|INFO)(_LIMIT)?\("'; then
				continue
			fi
			printf '%s\n' "${line#"$top/"}"
		done)
	[ -z "$out" ] || { printf '%s\n' "$out"; return 1; }
}

check_kerneldoc()
{
	local out

	need perl || return
	scripts || return
	# shellcheck disable=SC2046
	out=$(perl "$tree/scripts/kernel-doc" -none $(kernel_code) 2>&1)
	[ -z "$out" ] || { printf '%s\n' "$out"; return 1; }
}

includes=(-D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 '-DDMTIER_VERSION="0"' -Iuserspace -Iuserspace/shim -Iuserspace/lib
	-Idm-tier -Idm-tier/core -Ipolicy)

# What is shared with the module, and userspace.
shared_code() { printf '%s\n' dm-tier/core/*.c policy/*.c userspace/*.c userspace/*/*.c; }

# Left out: variableScope, since the kernel's style declares at the top of a function, and the type of a
# policy's create(), which is given.
check_cppcheck()
{
	need cppcheck || return
	# shellcheck disable=SC2046
	cppcheck --quiet -j "$JOBS" --std=c11 --enable=warning,style,performance,portability --error-exitcode=1 \
		--suppress=missingIncludeSystem --suppress=variableScope --suppress=constParameter:policy/seqbypass.c \
		-D__CPPCHECK__ "${includes[@]}" $(shared_code) $(printf '%s\n' tests/vm/*.c) 2>&1
}

check_analyzer()
{
	need clang pkg-config || return
	# shellcheck disable=SC2046
	shared_code | xargs -P "$JOBS" -I FILE clang --analyze -Xclang -analyzer-werror -std=gnu11 "${includes[@]}" \
		$(pkg-config --cflags devmapper blkid smartcols uuid) -o /dev/null FILE 2>&1
}

# A copy of the sources, since each of these wants objects of its own.
copy()		# NAME
{
	copy=$work/$1
	mkdir "$copy"
	cp -r Kbuild dm-tier policy "$copy/"
}

# Warnings about our own files out of a build's output.
own_warnings() { grep -A 5 -E "^($copy|\.)/[^ ]*: (warning|error):|^($copy/)?[^ ]*(dm-tier|policy)/[^ ]*: (warning|error):|\*\*\*"; }

# gcc with W=1 and W=2, sparse with endianness checks
check_kernel()
{
	local r out

	[ -e "$KDIR/Makefile" ] || { echo "no kernel headers in $KDIR"; return 77; }
	need sparse || return
	copy kernel
	make -s -j "$JOBS" -C "$KDIR" M="$copy" W=12 C=1 CF=-D__CHECK_ENDIAN__ CONFIG_DEBUG_INFO_BTF_MODULES= modules \
		>"$work/kernel.log" 2>&1
	r=$?
	out=$(own_warnings <"$work/kernel.log")
	[ -n "$out" ] || [ "$r" = 0 ] || out=$(tail -n 20 "$work/kernel.log")
	[ -z "$out" ] || { printf '%s\n' "$out" | head -n 200; return 1; }
}

# the modules, compiled by clang against the same headers
check_clang()
{
	local r out

	[ -e "$KDIR/Makefile" ] || { echo "no kernel headers in $KDIR"; return 77; }
	need clang ld.lld || return
	copy clang
	make -s -j "$JOBS" -C "$KDIR" M="$copy" LLVM=1 W=1 CONFIG_DEBUG_INFO_BTF_MODULES= modules >"$work/clang.log" 2>&1
	r=$?
	out=$(own_warnings <"$work/clang.log")
	[ -n "$out" ] || [ "$r" = 0 ] || out=$(tail -n 20 "$work/clang.log")
	[ -z "$out" ] || { printf '%s\n' "$out" | head -n 200; return 1; }
}

# The kernel's semantic patches, as its coccicheck runs them in mode report.  Left out: those in OCaml, for
# which Debian's spatch wants a compiler, and the one that takes each counter of I/O under way for a reference.
check_coccinelle()
{
	local out

	need spatch || return
	scripts || return
	copy cocci
	# shellcheck disable=SC2016
	find "$tree/scripts/coccinelle" -name '*.cocci' ! -name atomic_as_refcounter.cocci | sort | xargs -P "$JOBS" -I PATCH bash -c '
		grep -q "^virtual report" "$1" && ! grep -q "ocaml" "$1" || exit 0
		options=$(sed -n "s|^// Options: *||p" "$1" | head -n 1)
		spatch -D report --very-quiet --cocci-file "$1" $options --dir "$2" 2>&1 |
			grep -v "^warning: line\|^$" | sed "s|^$2/||"
	' - PATCH "$copy" >"$work/cocci.log" 2>&1
	out=$(sort -u "$work/cocci.log")
	[ -z "$out" ] || { printf '%s\n' "$out"; return 1; }
}

# What it says of the kernel's own headers is not looked at.
check_smatch()
{
	local r out

	[ -e "$KDIR/Makefile" ] || { echo "no kernel headers in $KDIR"; return 77; }
	command -v smatch >/dev/null || { echo "no smatch: Debian has no package of it, it is built from its own source"; return 77; }
	copy smatch
	make -s -j "$JOBS" -C "$KDIR" M="$copy" C=1 CHECK="smatch -p=kernel" CONFIG_DEBUG_INFO_BTF_MODULES= modules \
		>"$work/smatch.log" 2>&1
	r=$?
	out=$(grep -E "(dm-tier|policy)/[^ ]*:[0-9]+ .*(warn|error):" "$work/smatch.log")
	[ -n "$out" ] || [ "$r" = 0 ] || out=$(tail -n 20 "$work/smatch.log")
	[ -z "$out" ] || { printf '%s\n' "$out" | head -n 200; return 1; }
}

# ------------------------------------------------------------------------------------------------

tap=
while [ $# -gt 0 ]; do
	case $1 in
	--tap) tap=1 ;;
	--long) checks+=" $long_checks" ;;
	--list) echo "$checks $long_checks"; exit ;;
	-*) sed -n 's/^#\t\?//p' "$0" | sed -n 4,12p >&2; exit 2 ;;
	*) break ;;
	esac
	shift
done
[ $# = 0 ] || checks=$*

n=0
status=0
for c in $checks; do
	declare -F "check_$c" >/dev/null || { echo "lint: no check $c" >&2; exit 2; }
	n=$((n + 1))
	start=$SECONDS
	"check_$c" >"$work/out" 2>&1
	r=$?
	took=$((SECONDS - start))
	[ -z "$tap" ] || sed 's/^/# /' "$work/out"
	case $r in
	0) if [ -n "$tap" ]; then echo "ok $n - $c ($took s)"; else echo "lint: $c: ok ($took s)"; fi ;;
	77) if [ -n "$tap" ]; then echo "ok $n - $c # SKIP $(head -n 1 "$work/out")"; else echo "lint: $c: left out: $(head -n 1 "$work/out")"; fi ;;
	*)
		status=1
		if [ -n "$tap" ]; then echo "not ok $n - $c"; else cat "$work/out"; echo "lint: $c: FAILED ($took s)"; fi
		;;
	esac
done
[ -z "$tap" ] || echo "1..$n"
exit $status
