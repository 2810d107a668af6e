#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A 6.1 kernel that looks for bugs (KASAN, lockdep, kmemleak, fault injection, ...; debug.config), or for data
# races (KCSAN; debug.config and race.config), built from Debian's linux-source-6.1 for the virtual machines.
# Nothing is installed: all of it stays in ${XDG_CACHE_HOME:-~/.cache}/dm-tier, where vmrun and tests/kernels.sh
# look for kernels.
#
#	tests/debug-kernel.sh [--kcsan]			makes it if it isn't there; its last line is the version
#	tests/debug-kernel.sh [--kcsan] --version	only tells which version that would be
#
# The version has a checksum of the configuration in it, so a changed one makes another kernel.  Half an hour of
# processor time.
set -euo pipefail
cd "$(dirname "$0")"

cache=${XDG_CACHE_HOME:-$HOME/.cache}/dm-tier
configs=("$PWD/debug.config")
what=dbg
jobs=${JOBS:-$(nproc)}

die()
{
	printf 'debug-kernel: %s\n' "$*" >&2
	exit 1
}

say() { printf 'debug-kernel: %s\n' "$*" >&2; }

# The lines of the configuration: of two for one option the later one.
settings()
{
	awk '
		/^CONFIG_/ { split($0, part, "="); name = part[1] }
		/^# CONFIG_.* is not set$/ { name = $2 }
		!/^(# )?CONFIG_/ { next }
		!(name in line) { order[++n] = name }
		{ line[name] = $0 }
		END { for (i = 1; i <= n; i++) print line[order[i]] }' "${configs[@]}"
}

# Every line of it holds.
check_config()
{
	local line bad=

	while read -r line; do
		case $line in
		CONFIG_*=n | '# CONFIG_'*' is not set') line=${line#\# } line=${line%%[ =]*}
			! grep -q "^$line=" .config || bad+=" $line" ;;
		CONFIG_*=*) grep -qxF "$line" .config || bad+=" $line" ;;
		esac
	done < <(settings)
	[ -z "$bad" ] || die "the configuration does not hold:$bad"
}

build()
{
	local log=$out/build.log

	# The directory is used again for the next configuration: much of it need not be built again.
	mkdir -p "$out"
	cd "$out"
	{
		settings
		echo "CONFIG_LOCALVERSION=\"$local\""
		echo '# CONFIG_LOCALVERSION_AUTO is not set'
	} >.config
	make -s -C "$tree" O="$out" olddefconfig >"$log" 2>&1 || die "see $log"
	check_config
	say "building $release in $out"
	nice make -s -C "$tree" O="$out" -j"$jobs" "${options[@]}" bzImage modules >>"$log" 2>&1 ||
		{ tail -n 20 "$log" >&2; die "the build failed, see $log"; }
	[ "$(make -s -C "$tree" O="$out" kernelrelease)" = "$release" ] || die "the release is not $release"
}

install_kernel()
{
	local tmp=$dir.$$

	rm -rf "$tmp"
	mkdir -p "$tmp/boot"
	cd "$out"
	make -s -C "$tree" O="$out" INSTALL_MOD_PATH="$tmp" INSTALL_MOD_STRIP=1 "${options[@]}" modules_install >>build.log 2>&1 ||
		die "see $out/build.log"
	cp arch/x86/boot/bzImage "$tmp/boot/vmlinuz-$release"
	cp .config "$tmp/boot/config-$release"
	cp System.map "$tmp/boot/System.map-$release"
	# What modules outside of the tree are built with: these links point to the directory of the build.
	# That one changes with the next configuration, so what they need is copied.
	rm -f "$tmp/lib/modules/$release/build" "$tmp/lib/modules/$release/source"
	mkdir "$tmp/build"
	cp -a .config Makefile Module.symvers include scripts tools "$tmp/build/" 2>/dev/null || true
	mkdir -p "$tmp/build/arch/x86"
	cp -a arch/x86/include "$tmp/build/arch/x86/"
	rm -f "$tmp/build/source"
	ln -s "$tree" "$tmp/build/source"
	rm -rf "$dir"
	mv "$tmp" "$dir"
	touch "$dir/.complete"
}

out=$cache/debug-build
options=()
if [ "${1:-}" = --kcsan ]; then
	configs+=("$PWD/race.config")
	what=race
	out=$cache/race-build
	options=(KCSAN_SANITIZE=n)	# of the kernel itself; its modules' builds don't get this
	shift
fi
version=$(./kernel-source.sh --version)
# Debian's version without its own part: 6.1.192-3 is made of 6.1.192
local=-tier$what$(settings | cksum | cut -d ' ' -f 1)
release=${version%-*}$local
dir=$cache/kernels/$release

case ${1:-} in
--version) echo "$release"; exit ;;
'') ;;
*) die "usage: debug-kernel.sh [--kcsan] [--version]" ;;
esac
mkdir -p "$cache"
exec 9>"$out.lock"
flock 9
if [ ! -e "$dir/.complete" ]; then
	tree=$(./kernel-source.sh)
	build
	install_kernel
fi
echo "$release"
