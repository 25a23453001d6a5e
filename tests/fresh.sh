#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Do the README's two commands lead from a clone to a demo on a bare system? Makes minimal Debians with debootstrap
# (kept as tarballs, see below), clones the tree into each of them and runs the commands there. Needs root.
#
#   tests/fresh.sh [TARGET ...]      make targets to run, demo and test if none is given
#
# SUITE names the systems (default: bookworm and trixie); FRESH=FOLDER (default build/fresh) keeps the tarballs and
# the packages that were fetched; MIRROR (default: this machine's) is where they come from. WORKTREE=1 takes the
# tree as it lies there, not what is committed.
set -eu

cd "$(dirname "$0")/.."
top=$(pwd)
[ "$(id -u)" = 0 ] || { echo "fresh.sh: needs root" >&2; exit 4; }
[ $# -gt 0 ] || set -- demo test
# shellcheck source=tests/suites.sh
. tests/suites.sh

root=
trap 'rm -rf --one-file-system "$root"' EXIT
for suite in ${SUITE:-bookworm trixie}; do
	tar=$(suite_tar "$suite") || { echo "fresh.sh: $tar" >&2; exit 4; }
	root=$(mktemp -d "$fresh/root.XXXXXX")
	tar -C "$root" -xf "$tar"
	chmod 755 "$root" # mktemp's 700 would keep tests without root from all files
	if [ -z "${WORKTREE:-}" ] && git rev-parse -q --verify HEAD >/dev/null; then
		git clone -q "$top" "$root/gpumemtrace"
	else
		copy_tree "$root/gpumemtrace"
	fi
	cp /etc/resolv.conf "$root/etc/resolv.conf"
	mkdir -p "$fresh/$suite.debs/partial"
	echo "fresh.sh: $suite: make $*"
	DEBS=$fresh/$suite.debs in_root "$root" sh -c "cd /gpumemtrace && apt-get update && apt-get install -y make && make $*"
	rm -rf --one-file-system "$root"
done
