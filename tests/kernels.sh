#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Boots Debian's kernels under qemu's emulation (no KVM) and runs the tree's binaries in them. Checks loading, totals,
# stacks, late attach, what is left behind, and threads that preempt each other while they are traced. Prints TAP.
#
#   tests/kernels.sh [SUITE|SUITE-rt|newest|all|PACKAGE|arm64|arm64-16k|arm64-64k ...]
#                    bookworm trixie newest if none is given
#
# tests/kernels/arm64.py has all words for arm64.
# CHECKS="load preempt" makes only these checks; TOOLS names other binaries, which are to load, too (tests/clangs.sh).
# CHECKS=suite, which takes long and is made only if it is named, runs the demo and tests of tests/bpf in the guest: those
# whose path has a word of TESTS ("demo test_stacks test_torch"). CHECKS=pythons, too, is made only if it is named: the
# tests of Python's stacks, with the CPythons that Debian's suites have, and with others that tests/kernels/build_python.sh
# built in the folder BUILT_PYTHONS.
# PREEMPT_SECONDS (60) is how long threads preempt each other; GPUMEMTRACE_KERNELS (build/kernels) keeps what was
# fetched, MIRROR (this machine's) is where from. build/kernels/results.json has what was seen; tests/kernels/table.py
# makes a table of it.
set -eu

cd "$(dirname "$0")/.."
skip() {
	echo "1..0 # SKIP $*"
	echo "0 passed, 0 failed, 1 skipped"
	exit 0
}
[ "$(uname -m)" = x86_64 ] || skip "the kernels are for x86-64"
case " $*" in
*" arm64"*) export WITH_ARM64=1 ;;
esac
case " $* " in
*" arm64-64k "*) export WITH_ARM64_64K=1 ;;
esac
WITH_KERNELS=1 tests/setup.sh >&2
command -v apt-get >/dev/null 2>&1 || skip "apt-get is missing, which fetches the kernels"
[ -x /usr/bin/python3 ] || skip "/usr/bin/python3 is missing: apt-get install python3"
make -s --no-print-directory guest-programs >&2
exec /usr/bin/python3 -B tests/kernels/run.py "$@"
