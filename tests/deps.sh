#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Installs what building and testing dm-tier needs on a bare Debian 12.
#
#   tests/deps.sh [--check] [--list] [--more]
#
#   --check   install nothing; name what is missing and fail if anything is
#   --list    print the package names
#   --more    those too that only the long checks, the debug kernel and the bench need (must come last)
#
# When everything is there already it only asks dpkg and touches neither the
# network nor the package lists.
set -euo pipefail

# What the kernel modules and the userspace tools are built with.  The two
# linux-* packages follow one another: same upload, same kernel version.
build=(
	build-essential linux-headers-amd64 pkg-config perl python3 rsync zstd
	xz-utils kmod libdevmapper-dev libblkid-dev libsmartcols-dev uuid-dev
	nbdkit-plugin-dev
)

# What boots the test machines and what the tests run in them.
run=(
	linux-image-amd64 qemu-system-x86 busybox-static cpio nbdkit fio xfsprogs
	e2fsprogs dmsetup lvm2 thin-provisioning-tools util-linux
	sg3-utils blktrace strace jq xxd bc procps iproute2
)

# What the checkers need (make lint, sanitizer builds, kernels of newer Debians).
check=(shellcheck mandoc sparse mmdebstrap clang lld cppcheck linux-source-6.1)

# What the checks that take long need, building a kernel (tests/debug-kernel.sh), and the bench.
more=(coccinelle flex bison libelf-dev libssl-dev bcache-tools sqlite3)

# Real packages only: dpkg-query knows no virtual ones.
packages=("${build[@]}" "${run[@]}" "${check[@]}")
if [ "${*: -1}" = --more ]; then
	packages+=("${more[@]}")
	set -- "${@:1:$#-1}"
fi

missing()
{
	local pkg installed

	# dpkg-query fails when it does not know one of them, and prints the others.
	installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null || true)
	for pkg in "${packages[@]}"; do
		grep -qx "installed $pkg" <<<"$installed" || printf '%s\n' "$pkg"
	done
}

# The newest kernel for which both an image and headers are installed.
matching_kernel()
{
	local d

	for d in /lib/modules/*/build; do
		d=${d%/build}
		d=${d##*/}
		if [ -e "/boot/vmlinuz-$d" ] && [ -e "/lib/modules/$d/build/Makefile" ]; then
			printf '%s\n' "$d"
		fi
	done | sort -V | tail -n 1
}

die()
{
	printf 'deps: %s\n' "$*" >&2
	exit 1
}

install_packages()
{
	local left apt

	[ "$(id -u)" = 0 ] || die "must be root to install: ${want[*]}"
	printf 'deps: installing %s\n' "${want[*]}"
	export DEBIAN_FRONTEND=noninteractive
	# No initramfs: the test machines bring their own, and in a container there
	# is nothing that would boot from it.
	export INITRD=No
	apt=(apt-get -y -q -o Dpkg::Use-Pty=0 --no-install-recommends)
	# An old package list is as good as any until it names a file that is gone.
	"${apt[@]}" install "${want[@]}" ||
		{ "${apt[@]}" update && "${apt[@]}" install "${want[@]}"; } ||
		true
	left=$(missing)
	[ -z "$left" ] || die "apt-get failed, still missing: ${left//$'\n'/ }"
}

mode=install
case ${1:-} in
'') ;;
--check) mode=check ;;
--list)
	printf '%s\n' "${packages[@]}"
	exit 0
	;;
*) die "usage: deps.sh [--check|--list] [--more]" ;;
esac

command -v dpkg-query >/dev/null || die "not a Debian system; packages wanted: ${packages[*]}"
want=$(missing)
if [ -n "$want" ]; then
	mapfile -t want <<<"$want"
	[ "$mode" = install ] || die "missing: ${want[*]}"
	install_packages
fi
kver=$(matching_kernel)
[ -n "$kver" ] || die "no kernel with both image and headers installed;" \
	"a newer image than headers? try: apt-get install linux-image-amd64 linux-headers-amd64"
printf 'deps: all there, kernel %s\n' "$kver"
