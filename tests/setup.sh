#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Installs what the build and the tests need and the machine lacks, on Debian 12 or 13 or Ubuntu 24.04. Does nothing
# when everything is there, so the script may be called at any time, also without a network.
#
#   tests/setup.sh [STAMP]     touches STAMP at the end, for make; WITH_BROWSER=1 adds the browser of `make test`
#                              (80 MB), WITH_BENCH=1 what `make bench` compares with,
#                              WITH_KERNELS=1 what tests/kernels.sh boots kernels with,
#                              WITH_ARM64=1 arm64's, too, and
#                              WITH_ARM64_64K=1 what builds the kernel of which Debian has no package
set -eu

# package, and a program or a file (with wildcards) that shows that it is there
needs='
make               make
gcc                gcc
libc6-dev          /usr/include/stdio.h
clang              clang
llvm               llvm-strip
libbpf-dev         /usr/include/bpf/libbpf.h
libelf-dev         /usr/include/libelf.h
libdw-dev          /usr/include/elfutils/libdw.h
libiberty-dev      /usr/include/libiberty/demangle.h
liblzma-dev        /usr/include/lzma.h
zlib1g-dev         /usr/include/zlib.h
libzstd-dev        /usr/include/zstd.h
libjansson-dev     /usr/include/jansson.h
libncurses-dev     /usr/include/ncurses.h
libsqlite3-dev     /usr/include/sqlite3.h
libcmocka-dev      /usr/include/cmocka.h
python3            python3
'
# Without these a few tests are skipped: the fuzzers, the check of the JSON schema, what is fetched from PyPI, the
# completions of shells, the pager, programs in C++, capabilities on a file, and compressed symbols.
extras='
libclang-rt-dev    /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a
python3-jsonschema /usr/lib/python3/dist-packages/jsonschema
python3-pip        pip3
bash-completion    /usr/share/bash-completion/bash_completion
zsh                zsh
fish               fish
less               less
g++                g++
libcap2-bin        setcap
xz-utils           xz
'
browser='
chromium           chromium
poppler-utils      pdftoppm
'
bench='
bpftrace           bpftrace
'
kernels='
qemu-system-x86    qemu-system-x86_64
'
[ -z "${WITH_BROWSER:-}" ] || extras="$extras$browser"
[ -z "${WITH_BENCH:-}" ] || extras="$extras$bench"
arm64='
qemu-system-arm    qemu-system-aarch64
gcc-aarch64-linux-gnu aarch64-linux-gnu-gcc
'
arm64_64k='
flex               flex
bison              bison
bc                 bc
dwarves            pahole
'
[ -z "${WITH_KERNELS:-}" ] || extras="$extras$kernels"
[ -z "${WITH_ARM64:-}" ] || extras="$extras$arm64"
[ -z "${WITH_ARM64_64K:-}" ] || extras="$extras$arm64_64k"

missing() {
	# shellcheck disable=SC2086 # the wildcards are meant to be expanded
	echo "$1" | while read -r package sign; do
		case $sign in
		'') ;;
		/*) ls -d $sign >/dev/null 2>&1 || printf '%s ' "$package" ;;
		*) command -v "$sign" >/dev/null 2>&1 || printf '%s ' "$package" ;;
		esac
	done
}

apt() {
	$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@" </dev/null >"$log" 2>&1
}

# The lists of a fresh image are empty or old: they are fetched only when they do not do.
install() {
	# shellcheck disable=SC2086 # a list of packages
	apt install -y --no-install-recommends $1 ||
		{ apt update && apt install -y --no-install-recommends $1; }
}

need=$(missing "$needs")
extra=$(missing "$extras")
if [ -n "$need$extra" ] && ! command -v apt-get >/dev/null 2>&1; then
	[ -z "$need" ] && exit 0
	echo "setup: there is no apt-get here. Please install what these Debian packages hold: $need" >&2
	exit 1
fi
as_root=
if [ "$(id -u)" != 0 ]; then
	as_root=sudo
	if ! command -v sudo >/dev/null 2>&1; then
		if [ -n "$need" ]; then
			echo "setup: as root, run: apt-get install -y $need" >&2
			exit 1
		fi
		extra=
	fi
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if [ -n "$need" ]; then
	echo "setup: installing $need$extra" >&2
	if ! install "$need"; then
		cat "$log" >&2
		echo "setup: apt-get install -y $need failed" >&2
		exit 1
	fi
fi
for package in $extra; do
	install "$package" || echo "setup: without $package some tests are skipped" >&2
done

if [ -n "${1:-}" ]; then
	mkdir -p "$(dirname "$1")"
	touch "$1"
fi
