#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# get_packages.sh DIR COMPONENT FILE PACKAGE...: unpacks Debian's packages of a component (main, non-free) below DIR,
# without installing them and without touching apt's own configuration, lists or cache. Prints the path of the one
# file in them whose name matches FILE, as find(1) matches. Status 1 with a sentence when it cannot be had.
# PACKAGES_ARCH and PACKAGES_SUITE ask for another architecture than amd64, and for another suite than this machine's.
set -eu

dir=$1 component=$2 file=$3
shift 3
found() { find "$dir/root" -name "$file" -type f 2>/dev/null | head -1; }
fail() { echo "$*" >&2; exit 1; }

if [ -n "$(found)" ]; then found; exit 0; fi
command -v apt-get >/dev/null && command -v dpkg >/dev/null || fail "no apt-get"
[ -n "${PACKAGES_ARCH-}" ] || [ "$(dpkg --print-architecture)" = amd64 ] || fail "not amd64"
. /etc/os-release
[ "${ID-}" = debian ] || fail "not Debian"

# The mirror that this machine uses for its own packages.
uri=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null |
	awk -v suite="$VERSION_CODENAME" '$2 == suite && $3 == "main" { print $1; exit }')
[ -n "$uri" ] || fail "apt knows no mirror of $VERSION_CODENAME"
arch=${PACKAGES_ARCH:-amd64} suite=${PACKAGES_SUITE:-$VERSION_CODENAME}

mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial" "$dir/unpacked"
keys=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb [arch=$arch signed-by=$keys] $uri $suite $component" >"$dir/sources.list"
apt()
{
	apt-get -qq -o Dir::Etc::SourceList="$dir/sources.list" -o Dir::Etc::SourceParts=/dev/null \
		-o Dir::State::Lists="$dir/lists" -o Dir::Cache="$dir/cache" \
		-o APT::Architecture="$arch" -o APT::Architectures::="$arch" -o APT::Sandbox::User=root -o Acquire::Retries=1 -o Acquire::http::Timeout=20 "$@"
}
apt update >/dev/null 2>&1 || fail "the package list cannot be fetched"
(cd "$dir" && apt download "$@" >/dev/null 2>&1) || fail "$* cannot be fetched"
for deb in "$dir"/*.deb; do
	dpkg -x "$deb" "$dir/unpacked"
done
rm -rf "$dir"/*.deb "$dir/cache" "$dir/lists"
mv "$dir/unpacked" "$dir/root"
[ -n "$(found)" ] || fail "$* holds no $file"
found
