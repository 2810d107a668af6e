#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Debian's source of the 6.1 kernel, out of its package linux-source-6.1, in ${XDG_CACHE_HOME:-~/.cache}/dm-tier.
#
#	tests/kernel-source.sh			all of it; prints where it is
#	tests/kernel-source.sh --scripts	only scripts/: checkpatch, kernel-doc, coccinelle's; prints where
#	tests/kernel-source.sh --version	prints the package's version
#
# The package need not be installed: then it is fetched.
set -euo pipefail

cache=${XDG_CACHE_HOME:-$HOME/.cache}/dm-tier
package=linux-source-6.1

die()
{
	printf 'kernel-source: %s\n' "$*" >&2
	exit 1
}

installed() { [ -e /usr/src/$package.tar.xz ] && dpkg-query -W -f '${Version}\n' $package 2>/dev/null; }

candidate()
{
	local v

	v=$(apt-cache policy $package 2>/dev/null | sed -n 's/^ *Candidate: //p')
	[[ $v == [0-9]* ]] && echo "$v"
}

# The package's tar archive on stdout.
archive()
{
	local dir

	if installed >/dev/null; then
		cat /usr/src/$package.tar.xz
		return
	fi
	dir=$(mktemp -d)
	(cd "$dir" && apt-get -q -q -o APT::Sandbox::User=root download "$package=$version" >&2 &&
		dpkg --fsys-tarfile $package*.deb | tar -xO ./usr/src/$package.tar.xz)
	rm -rf "$dir"
}

# unpack DIRECTORY [MEMBER]
unpack()
{
	local tmp=$cache/.unpack.$$

	[ ! -e "$1/.complete" ] || return 0
	rm -rf "$1" "$tmp"
	mkdir -p "$tmp"
	archive | tar -xJ -C "$tmp" ${2:+"$package/$2"} || die "can't fetch or unpack $package"
	# Frame pointers suffice for it on this machine too, as 6.2 says.
	[ -n "${2:-}" ] || sed -i '/^config FAULT_INJECTION_STACKTRACE_FILTER/,/^config/ { /depends on !X86_64/d }' \
		"$tmp/$package/lib/Kconfig.debug"
	mv "$tmp/$package" "$1"
	rm -rf "$tmp"
	touch "$1/.complete"
}

version=$(installed || candidate) || die "apt knows no $package"
tree=$cache/$package-$version
mkdir -p "$cache"
exec 9>"$cache/source.lock"
flock 9
case ${1:-} in
--version) echo "$version" ;;
--scripts)
	[ -e "$tree/.complete" ] || { tree+=-scripts; unpack "$tree" scripts; }
	echo "$tree"
	;;
'')
	unpack "$tree"
	echo "$tree"
	;;
*) die "usage: kernel-source.sh [--scripts|--version]" ;;
esac
