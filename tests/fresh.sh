#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Does a bare system get from a clone to a demo with the README's two commands? Makes a minimal Debian
# with debootstrap (kept as a tarball, see below), clones the tree into it and runs them there. Root.
#
#   tests/fresh.sh [TARGET ...]      make targets to run, demo and test if none is given
#
# FRESH=FOLDER (default build/fresh) keeps the tarball; SUITE and MIRROR (default: this machine's) choose the
# system.
set -eu

cd "$(dirname "$0")/.."
top=$(pwd)
fresh=${FRESH:-$top/build/fresh}
suite=${SUITE:-bookworm}
mirror=${MIRROR:-$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' "Codename: $suite" | head -n 1)}
[ "$(id -u)" = 0 ] || { echo "fresh.sh: needs root" >&2; exit 4; }
[ $# -gt 0 ] || set -- demo test

mkdir -p "$fresh"
if [ ! -e "$fresh/$suite.tar" ]; then
	command -v debootstrap >/dev/null || { echo "fresh.sh: needs debootstrap" >&2; exit 4; }
	debootstrap --variant=minbase "$suite" "$fresh/base" "$mirror" >"$fresh/log" 2>&1
	tar -C "$fresh/base" -cf "$fresh/$suite.tar" .
	rm -rf "$fresh/base"
fi

root=$(mktemp -d "$fresh/root.XXXXXX")
trap 'rm -rf --one-file-system "$root"' EXIT
tar -C "$root" -xf "$fresh/$suite.tar"
# What is committed, or, before the first commit and with WORKTREE=1, what would be.
if [ -z "${WORKTREE:-}" ] && git rev-parse -q --verify HEAD >/dev/null; then
	git clone -q "$top" "$root/gpumemtrace"
else
	mkdir "$root/gpumemtrace"
	git ls-files -z --cached --others --exclude-standard | tar --null -T - -cf - | tar -C "$root/gpumemtrace" -xf -
fi
cp /etc/resolv.conf "$root/etc/resolv.conf"

# In a mount namespace of its own: nothing stays mounted, whatever happens.
unshare --mount --propagation private sh -c '
	root=$1; shift
	mount --bind "$root" "$root" && cd "$root" # a mount point of its own, as a machine has
	for folder in proc sys dev; do mount --rbind "/$folder" "$root/$folder"; done
	exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/ TERM=dumb \
		chroot "$root" sh -c "cd /gpumemtrace && apt-get update && apt-get install -y make && make $*"
' sh "$root" "$@" </dev/null
