#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Newer Debian kernels to build for and to boot in the virtual machines.  Nothing is installed: all of
# it stays in ${XDG_CACHE_HOME:-~/.cache}/dm-tier.
#
#	tests/kernels.sh SERIES|VER		fetch the newest of a series (6.12 from trixie, 7 from
#						sid) or exactly VER; its last line is the version
#	tests/kernels.sh list			what is there
#	tests/kernels.sh build VER DIR ARG...	run make with ARGs for the modules in DIR (this is what
#						`make modules KVER=VER` calls for these kernels, and for
#						those that tests/debug-kernel.sh makes)
#
# The image and its modules go to kernels/VER, where vmrun looks for them.  Their headers can't be
# used by Debian 12: objtool and its like want a newer glibc, the flags gcc 14.  So they go into a
# small trixie root, made once, that the build enters by chroot.  Hence root is needed.
#
# Environment: DEBIAN_MIRROR, default: where the machine's own packages come from
set -euo pipefail

cache=${XDG_CACHE_HOME:-$HOME/.cache}/dm-tier
root=$cache/trixie

# where apt gets the packages with a label
# shellcheck disable=SC2016 # apt's own format
apt_uri() { apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' "Label: $1" | sort -u | head -n 1; }

mirror=${DEBIAN_MIRROR:-$(apt_uri Debian)}
security=$(apt_uri Debian-Security)
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# What the build root holds; W=1 runs kernel-doc, which is perl in 6.12 and python in 7.
root_packages=gcc-14,make,libelf1t64,libssl3t64,libc6-dev,libdw1t64,zlib1g,libzstd1,kmod,perl,python3-minimal

die()
{
	printf 'kernels: %s\n' "$*" >&2
	exit 1
}

say() { printf 'kernels: %s\n' "$*" >&2; }

# --- apt with lists and state of its own --------------------------------------------------------

apt_setup()	# SUITE
{
	apt_dir=$cache/apt/$1
	mkdir -p "$apt_dir"/{state/lists/partial,cache/archives/partial,etc/preferences.d,debs}
	{
		echo "deb [signed-by=$keyring] $mirror $1 main"
		# Not fatal when it is missing on a mirror: kernels of a point release suffice.
		[ "$1" = sid ] || [ -n "${DEBIAN_MIRROR:-}" ] || [ -z "$security" ] ||
			echo "deb [signed-by=$keyring] $security $1-security main"
	} >"$apt_dir/etc/sources.list"
	apt_options=(
		-o "Dir::Etc=$apt_dir/etc" -o "Dir::Etc::sourcelist=$apt_dir/etc/sources.list" -o Dir::Etc::sourceparts=-
		-o "Dir::State=$apt_dir/state" -o "Dir::State::status=/dev/null" -o "Dir::Cache=$apt_dir/cache"
		-o APT::Sandbox::User=root -o APT::Architecture=amd64 -o APT::Architectures::=amd64
		-o Acquire::Languages=none -o APT::Default-Release=
	)
}

apt_quiet() { apt-get "${apt_options[@]}" -q -q "$@"; }

# Direct dependencies of a package, one a line.
depends_of()	# PACKAGE
{
	apt-cache "${apt_options[@]}" depends --no-recommends --no-suggests --no-conflicts --no-breaks \
		--no-replaces --no-enhances "$1" 2>/dev/null | sed -n 's/^ *|\?Depends: \([a-z].*\)/\1/p'
}

unpack()	# DIRECTORY PACKAGE...
{
	local dir=$1 package deb

	shift
	for package; do
		(cd "$apt_dir/debs" && rm -f "${package}"_*.deb && apt_quiet download "$package") ||
			die "can't download $package"
		for deb in "$apt_dir/debs/${package}"_*.deb; do
			dpkg -x "$deb" "$dir" || die "can't unpack $deb"
			rm -f "$deb"
		done
	done
}

# --- Fetching ---------------------------------------------------------------------------------

suite_of()	# VERSION or SERIES
{
	case $1 in
	6.12 | 6.12.*) echo trixie ;;
	7 | 7.*) echo sid ;;
	*) die "$1: 6.12 (trixie) and 7 (sid) can be had, and versions of theirs" ;;
	esac
}

# The full version for a series, from the metapackage.
resolve()	# VERSION or SERIES
{
	local version

	case $1 in
	*-amd64) echo "$1"; return ;;
	esac
	version=$(depends_of linux-image-amd64 | sed -n 's/^linux-image-\([0-9].*-amd64\)$/\1/p' | head -n 1)
	[ -n "$version" ] || die "no linux-image-amd64 in $suite"
	case $version in
	"$1" | "$1".* | "$1"[+-]*) echo "$version" ;;
	*) die "$suite has $version now, not $1" ;;
	esac
}

make_root()
{
	[ "$(cat "$root/.complete" 2>/dev/null)" != "$root_packages" ] || return 0
	[ "$(id -u)" = 0 ] || die "must be root to make the build root $root"
	command -v mmdebstrap >/dev/null || die "no mmdebstrap: run make deps"
	say "making a trixie root to build in, $root"
	rm -rf "$root"
	mmdebstrap --quiet --variant=apt --keyring="$keyring" \
		--include=$root_packages trixie "$root" "$mirror" >&2 || die "mmdebstrap failed"
	echo "$root_packages" >"$root/.complete"
}

fetch()		# VERSION or SERIES
{
	local suite version dir headers

	suite=$(suite_of "$1")
	apt_setup "$suite"
	if [[ $1 == *-amd64 && -e $cache/kernels/$1/.complete && -e $root/usr/src/linux-headers-$1/.complete ]]; then
		echo "$1"
		return
	fi
	apt_quiet update >&2 || die "can't read the package lists of $suite from $mirror"
	version=$(resolve "$1")
	dir=$cache/kernels/$version
	if [ ! -e "$dir/.complete" ]; then
		say "fetching linux-image-$version from $suite"
		rm -rf "$dir"
		mkdir -p "$dir"
		mapfile -t packages < <(depends_of "linux-image-$version" | grep -E '^linux-(binary|modules|base)-[0-9]' || true)
		unpack "$dir" "linux-image-$version" "${packages[@]}"
		[ -e "$dir/lib" ] || ln -s usr/lib "$dir/lib"
		[ -d "$dir/lib/modules/$version/kernel" ] || die "no modules in the packages of $version"
		[ -e "$dir/boot/vmlinuz-$version" ] || [ -e "$dir/lib/modules/$version/vmlinuz" ] ||
			die "no vmlinuz in the packages of $version"
		depmod -b "$dir" "$version"
		touch "$dir/.complete"
	fi
	make_root
	if [ ! -e "$root/usr/src/linux-headers-$version/.complete" ]; then
		say "fetching linux-headers-$version"
		mapfile -t headers < <(depends_of "linux-headers-$version" | grep -E '^linux-(headers|kbuild)-[0-9]' || true)
		unpack "$root" "linux-headers-$version" "${headers[@]}"
		touch "$root/usr/src/linux-headers-$version/.complete"
	fi
	echo "$version"
}

# --- Building ---------------------------------------------------------------------------------

build()		# VERSION DIRECTORY MAKE-ARGUMENT...
{
	local version=$1 dir=$2

	shift 2
	if [ -e "$cache/kernels/$version/build/Makefile" ]; then	# one of ours: Debian 12's tools do
		exec make -C "$cache/kernels/$version/build" "M=$dir" UBSAN_SANITIZE=y "$@"
	fi
	[ -e "$root/usr/src/linux-headers-$version/.complete" ] ||
		die "no headers of $version, neither installed nor fetched: tests/kernels.sh $version"
	[ "$(id -u)" = 0 ] || die "must be root to enter the build root $root"
	mkdir -p "$root/build/$version"
	# The root's copy keeps what was built, for make to build on.
	rsync -a --delete --exclude=.lock "$dir/" "$root/build/$version/"
	# objtool wants /proc; in a mount namespace of its own nothing stays mounted.
	# shellcheck disable=SC2016
	unshare --mount bash -c 'mount --rbind /proc "$1/proc" && exec chroot "$@"' - "$root" \
		make -C "/usr/src/linux-headers-$version" "M=/build/$version" CC=gcc-14 HOSTCC=gcc-14 \
		KCFLAGS=-Wno-attributes "$@"
	rsync -a --exclude=.lock "$root/build/$version/" "$dir/"
}

case ${1:-} in
build)
	[ $# -ge 3 ] || die "usage: kernels.sh build VER DIR ARG..."
	shift
	build "$@"
	;;
list)
	for d in "$cache"/kernels/*/.complete; do
		[ ! -e "$d" ] || basename "${d%/.complete}"
	done
	;;
[0-9]*) fetch "$1" ;;
*) die "usage: kernels.sh 6.12|7|VER, kernels.sh list, kernels.sh build VER DIR ARG..." ;;
esac
