#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A 6.1 kernel that looks for bugs (KASAN, lockdep, kmemleak, fault injection, ...; debug.config), and one that
# looks for data races (KCSAN; debug-kcsan.config), built from Debian's linux-source-6.1 for the virtual
# machines.  Nothing is installed: all of it stays in ${XDG_CACHE_HOME:-~/.cache}/dm-tier, where vmrun and
# tests/kernels.sh look for kernels.
#
#	tests/debug-kernel.sh [--kcsan]			makes it if it isn't there; its last line is the version
#	tests/debug-kernel.sh [--kcsan] --version	only tells which version that would be
#
# The version has a checksum of the configuration in it, so a changed one makes another kernel.  Ten minutes
# on two slow cores.
set -euo pipefail
cd "$(dirname "$0")"

cache=${XDG_CACHE_HOME:-$HOME/.cache}/dm-tier
config=$PWD/debug.config
variant=dbg
# KASAN leaves out what all goes through: checks of each access there would make the machines, which are
# emulated, several times slower.  Allocations and frees are looked after everywhere.
# shellcheck disable=SC2016 # make's own
kernel_args=('KASAN_SANITIZE=$(if $(filter arch/% kernel kernel/% mm mm/% lib lib/%,$(obj)),n,y)')
jobs=${JOBS:-$(nproc)}

die()
{
	printf 'debug-kernel: %s\n' "$*" >&2
	exit 1
}

say() { printf 'debug-kernel: %s\n' "$*" >&2; }

# The lines of the configuration: those of debug.config, and in their places those of the variant.
config_lines()
{
	local symbol='s/^\(# \)\?\(CONFIG_[A-Za-z0-9_]*\)[= ].*/\2/p'

	if [ $variant = kcsan ]; then
		grep -E '^(# )?CONFIG_' "$config" |
			grep -vwFf <(sed -n "$symbol" "${config%.config}-kcsan.config")
		grep -E '^(# )?CONFIG_' "${config%.config}-kcsan.config"
	else
		grep -E '^(# )?CONFIG_' "$config"
	fi
}

# Every one of them holds.
check_config()
{
	local line bad=

	while read -r line; do
		case $line in
		CONFIG_*=*) grep -qxF "$line" .config || bad+=" $line" ;;
		'# CONFIG_'*' is not set') line=${line#\# } line=${line%% *}
			! grep -q "^$line=" .config || bad+=" $line" ;;
		esac
	done < <(config_lines)
	[ -z "$bad" ] || die "the configuration does not hold:$bad"
}

build()
{
	local log=$out/build.log

	# The directory is used again for the next configuration: much of it need not be built again.
	mkdir -p "$out"
	cd "$out"
	{
		config_lines
		echo "CONFIG_LOCALVERSION=\"$local\""
		echo '# CONFIG_LOCALVERSION_AUTO is not set'
	} >.config
	make -s -C "$tree" O="$out" olddefconfig >"$log" 2>&1 || die "see $log"
	check_config
	say "building $release in $out"
	nice make -s -C "$tree" O="$out" -j"$jobs" "${kernel_args[@]}" bzImage modules >>"$log" 2>&1 ||
		{ tail -n 20 "$log" >&2; die "the build failed, see $log"; }
	[ "$(make -s -C "$tree" O="$out" kernelrelease)" = "$release" ] || die "the release is not $release"
}

install_kernel()
{
	local tmp=$dir.$$

	rm -rf "$tmp"
	mkdir -p "$tmp/boot"
	cd "$out"
	make -s -C "$tree" O="$out" INSTALL_MOD_PATH="$tmp" INSTALL_MOD_STRIP=1 modules_install >>build.log 2>&1 ||
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

version=$(./kernel-source.sh --version)
action=
for arg; do
	case $arg in
	# of the kernel itself nothing is instrumented; our modules are, by default
	--kcsan) variant=kcsan kernel_args=(KCSAN_SANITIZE=n) ;;
	--version) action=version ;;
	*) die "usage: debug-kernel.sh [--kcsan] [--version]" ;;
	esac
done
out=$cache/debug-build
[ $variant = dbg ] || out+=-$variant
# Debian's version without its own part: 6.1.192-3 is made of 6.1.192
local=-tier$variant$(config_lines | cksum | cut -d ' ' -f 1)
release=${version%-*}$local
dir=$cache/kernels/$release

[ -z "$action" ] || { echo "$release"; exit; }
mkdir -p "$cache"
exec 9>"$out.lock"
flock 9
if [ ! -e "$dir/.complete" ]; then
	tree=$(./kernel-source.sh)
	build
	install_kernel
fi
echo "$release"
