#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Do all of Debian's clangs compile the BPF programs, and do kernels accept the programs of each clang? Compiles the
# programs in bare Debians, links a binary with each object, build/clangs/gpumemtrace-SUITE-clang-N, and loads the
# programs on this kernel. One row for each clang, as TAP. Needs root. Not part of make test: every clang of a suite is
# fetched.
#
#   make all standin && tests/clangs.sh [SUITE ...]          bookworm trixie if none is given
#   TOOLS="$(ls build/clangs/gpumemtrace-*)" CHECKS=load tests/kernels.sh        the same on other kernels
#
# FRESH and MIRROR: as in fresh.sh. OLDEST (14) is the first clang that is asked for.
set -eu

cd "$(dirname "$0")/.."
# shellcheck source=tests/suites.sh
. tests/suites.sh
[ $# -gt 0 ] || set -- bookworm trixie
built=build/clangs
mkdir -p "$built"

# The suite's clangs, by number, in $root.
clangs() {
	in_root "$root" apt-cache search --names-only '^clang-[0-9]+$' | sed 's/^clang-\([0-9]*\) .*/\1/' | sort -n |
		awk -v oldest="${OLDEST:-14}" '$1 >= oldest'
}

# compiles SUITE NUMBER: the object, and the binary with it
compiles() {
	name=$1-clang-$2
	in_root "$root" apt-get install -y --no-install-recommends "clang-$2" "llvm-$2" &&
		in_root "$root" make -C /gpumemtrace "CLANG=clang-$2" "LLVM_STRIP=llvm-strip-$2" -B build/gmt.bpf.o &&
		cp "$root/gpumemtrace/build/gmt.bpf.o" "$built/$name.bpf.o" &&
		make "$built/gpumemtrace-$name"
}

# All programs, those of both ways to take stacks.
loads() {
	for options in --block-stacks '--stacks fp'; do
		# shellcheck disable=SC2086 # options
		"$built/gpumemtrace-$1" -q --json --oom-dir off --driver-root build/standin/root $options \
			-- build/standin/workloads/basic >"$built/out" &&
			agrees "$built/out" api kernel nvml framework || return 1
	done
}

suite() {
	if ! tar=$(suite_tar "$1" gcc,libc6-dev,make); then
		skip "$1" "$tar"
		return
	fi
	tar -C "$root" -xf "$tar"
	copy_tree "$root/gpumemtrace"
	cp /etc/resolv.conf "$root/etc/resolv.conf"
	mkdir -p "$fresh/$1.debs/partial"
	DEBS=$fresh/$1.debs
	export DEBS
	if ! { in_root "$root" apt-get update -o Acquire::Check-Valid-Until=false &&
		in_root "$root" apt-get install -y libbpf-dev; } >"$built/log" 2>&1; then
		row 1 "$1: libbpf's headers are installed" "$built/log"
		return
	fi
	for number in $(clangs); do
		if compiles "$1" "$number" >"$built/log" 2>&1; then status=0; else status=1; fi
		row $status "$1's clang $number compiles the programs" "$built/log"
		[ $status = 0 ] || continue
		if loads "$1-clang-$number" >"$built/log" 2>&1; then status=0; else status=1; fi
		row $status "$1's clang $number: this kernel takes all programs, totals are right" "$built/log"
	done
}

rows_of suite "$@"
