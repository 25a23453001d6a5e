#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Do the two binaries that are built here start and trace beside other distributions' files, on this kernel? One row for
# each distribution and binary, as TAP. Needs root. Not part of make test: whole systems are fetched (150 MB each,
# once).
#
#   make all static standin && tests/distros.sh [NAME ...]     bullseye bookworm trixie alpine empty if none is given
#
# NAME is a suite of Debian, made with debootstrap, where the stand-in driver and its workloads are compiled by the
# suite's own gcc; or a system whose root lies in FRESH/NAME.tar (alpine: its minirootfs), or `empty`, a root with
# nothing at all: there the static binary runs, and this machine's workloads with their libc. FRESH and MIRROR: as
# in fresh.sh.
set -eu

cd "$(dirname "$0")/.."
# shellcheck source=tests/suites.sh
. tests/suites.sh
[ $# -gt 0 ] || set -- bullseye bookworm trixie alpine empty
standin=/gpumemtrace/build/standin
# What of the stand-in driver is needed, and compiles with an old libc, too.
parts='build/standin/workloads/basic build/standin/root/usr/lib/libcuda.so.1 build/standin/root/lib/libnvidia-ml.so.1
	build/standin/root/proc/devices build/demos/train'

# try BINARY LAYER...: version, doctor, and a workload from its start
try() {
	binary=/gpumemtrace/build/$1
	shift
	in_root "$root" "$binary" --version &&
		{ in_root "$root" "$binary" doctor --driver-root "$standin/root" || [ $? -lt 4 ]; } &&
		in_root "$root" "$binary" -q --json --oom-dir off --driver-root "$standin/root" -- \
			"$standin/workloads/basic" >"$root/out" &&
		agrees "$root/out" "$@"
}

try_static() {
	if try gpumemtrace-static api kernel framework >"$root/log" 2>&1; then status=0; else status=$?; fi
	row $status "$1: the static binary starts and traces" "$root/log"
}

debian() {
	if ! tar=$(suite_tar "$1" gcc,libc6-dev,make); then
		skip "$1" "$tar"
		return
	fi
	tar -C "$root" -xf "$tar"
	copy_tree "$root/gpumemtrace"
	mkdir -p "$root/gpumemtrace/build"
	cp build/gpumemtrace build/gpumemtrace-static "$root/gpumemtrace/build"
	libc=$(in_root "$root" ldd --version | sed -n '1s/.* //p')
	# shellcheck disable=SC2086 # a list
	if ! in_root "$root" make -s -C /gpumemtrace $parts >"$root/log" 2>&1; then
		row 1 "$1: the stand-in driver compiles" "$root/log"
		return
	fi
	if try gpumemtrace api kernel nvml framework >"$root/log" 2>&1; then status=0; else status=$?; fi
	row $status "$1 (glibc $libc): the binary starts and traces" "$root/log"
	if in_root "$root" /gpumemtrace/demos/demo.sh 2 >"$root/log" 2>&1 && grep -q 'nothing was lost' "$root/log"; then
		status=0
	else
		status=1
	fi
	row $status "$1 (glibc $libc): the demo" "$root/log"
	try_static "$1 (glibc $libc)"
}

# A root that need not have a libc, at least none that this machine's programs start with.
other() {
	if [ "$1" != empty ] && [ ! -e "$fresh/$1.tar" ]; then
		skip "$1" "no tarball of its root is at $fresh/$1.tar"
		return
	fi
	[ "$1" = empty ] || tar -C "$root" -xf "$fresh/$1.tar"
	mkdir -p "$root/gpumemtrace/build/standin"
	cp build/gpumemtrace-static "$root/gpumemtrace/build"
	if in_root "$root" /gpumemtrace/build/gpumemtrace-static --version >"$root/log" 2>&1; then status=0; else status=$?; fi
	row $status "$1: the static binary starts, with no file beside it" "$root/log"
	cp -r build/standin/root build/standin/workloads "$root/gpumemtrace/build/standin"
	for file in $(ldd build/standin/workloads/basic | grep -o ' /lib[^ ]*\|^	/lib[^ ]*'); do
		mkdir -p "$root$(dirname "$file")"
		[ -e "$root$file" ] || cp -L "$file" "$root$file"
	done
	try_static "$1"
}

distribution() {
	if [ -e "/usr/share/debootstrap/scripts/$1" ] || [ -e "$fresh/$1-with-gcc,libc6-dev,make.tar" ]; then
		debian "$1"
	else
		other "$1"
	fi
}

rows_of distribution "$@"
