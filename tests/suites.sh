# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=sh
# What fresh.sh, distros.sh and clangs.sh share: bare Debian systems, each kept as a tarball in $fresh, and commands run
# in them. $FRESH names the folder (default build/fresh), $MIRROR the archive (default: this machine's). Run from the
# top directory, as root.

fresh=${FRESH:-$PWD/build/fresh}

# The archive of a suite: the one this machine has it from, else that of the machine's own suite.
suite_mirror() {
	[ -z "${MIRROR:-}" ] || { echo "$MIRROR"; return; }
	for filter in "Codename: $1" 'Origin: Debian'; do
		site=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' "$filter" 2>/dev/null | grep -v security | head -n 1)
		[ -z "$site" ] || break
	done
	echo "${site:-http://deb.debian.org/debian}"
}

# suite_tar SUITE [PACKAGE,...]: makes the tarball if there is none, and prints its path; or why it cannot be had.
suite_tar() {
	tar=$fresh/$1${2:+-with-$2}.tar
	mkdir -p "$fresh"
	if [ ! -e "$tar" ]; then
		command -v debootstrap >/dev/null || { echo "debootstrap is not installed"; return 1; }
		base=$(mktemp -d "$fresh/base.XXXXXX")
		if debootstrap --variant=minbase ${2:+--include="$2"} "$1" "$base" "$(suite_mirror "$1")" >"$fresh/log" 2>&1 &&
			tar -C "$base" -cf "$tar.new" .; then
			mv "$tar.new" "$tar"
		fi
		rm -rf --one-file-system "$base" "$tar.new"
		[ -e "$tar" ] || { echo "debootstrap $1: $(tail -n 1 "$fresh/log")"; return 1; }
	fi
	echo "$tar"
}

# What git has or would take, with what is changed, into a folder.
copy_tree() {
	mkdir -p "$1"
	git ls-files -z --cached --others --exclude-standard | tar --null -T - -cf - | tar -C "$1" -xf -
}

# agrees FILE LAYER...: the report in what a tool and its workload printed, with the workload's own books: totals,
# losses, no limits, and these layers (whether NVML was asked).
agrees() {
	PYTHONPATH=tests/bpf PYTHONDONTWRITEBYTECODE=1 python3 - "$@" <<'END'
import json, sys, lib
with open(sys.argv[1], encoding="utf-8") as file:
    out = file.read()
report = [json.loads(line) for line in out.splitlines() if line.startswith("{")][-1]
lib.equal(report["session"]["layers"], sys.argv[2:], "layers")
lib.equal(report["limits"], [], "limits")
lib.compare(report, report["processes"][0]["pid"], lib.books_of(out))
END
}

rows=0
failed=0

# row STATUS TEXT [FILE]: the file is shown if it failed
row() {
	rows=$((rows + 1))
	if [ "$1" = 0 ]; then
		echo "ok $rows - $2"
	else
		echo "not ok $rows - $2"
		sed 's/^/# /' "$3" | tail -n 30
		failed=1
	fi
}

skip() {
	rows=$((rows + 1))
	echo "ok $rows - $1 # SKIP $2"
}

# rows_of FUNCTION NAME...: calls the function for each name, with an empty folder $root; then the plan and the exit
# status. Nothing without root.
rows_of() {
	if [ "$(id -u)" != 0 ]; then
		echo '1..0 # SKIP needs root'
		exit 0
	fi
	mkdir -p "$fresh"
	root=$(mktemp -d "$fresh/root.XXXXXX")
	trap 'rm -rf --one-file-system "$root"' EXIT
	rows_function=$1
	shift
	for rows_name; do
		"$rows_function" "$rows_name"
		rm -rf --one-file-system "$root"
		mkdir "$root"
	done
	echo "1..$rows"
	exit $failed
}

# in_root ROOT PROGRAM ARGUMENTS: with this machine's /proc, /sys and /dev, in a mount namespace of its own:
# nothing stays mounted, whatever happens.
in_root() {
	unshare --mount --propagation private sh -ec '
		root=$1; shift
		mount --bind "$root" "$root" && cd "$root" # a mount point of its own, as a machine has
		for folder in proc sys dev; do mkdir -p "$folder"; mount --rbind "/$folder" "$root/$folder"; done
		[ ! -d var/cache/apt ] || [ ! -d "$DEBS" ] || mount --bind "$DEBS" "$root/var/cache/apt/archives"
		exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/ TERM=dumb chroot "$root" "$@"
	' sh "$@" </dev/null
}
