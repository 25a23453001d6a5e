#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What `make install` puts where, and that the binary needs nothing but libc.
set -u
cd "$(dirname "$0")/../.." || exit 1
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
n=0
bad=0
result() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; bad=1; fi
}
echo 1..4
make -s --no-print-directory install DESTDIR="$place" PREFIX=/usr >"$place/log" 2>&1
result $? 'make install'
found=$(cd "$place" && find usr -type f | sort | tr '\n' ' ')
[ "$found" = 'usr/bin/gpumemtrace usr/share/bash-completion/completions/gpumemtrace usr/share/man/man1/gpumemtrace.1 ' ]
result $? 'the binary, its manual page and its completion are there'
needs=$(readelf -d build/gpumemtrace | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -v -e '^libc\.so' -e '^libm\.so' -e '^ld-linux')
[ -z "$needs" ] || echo "# it also needs $needs"
[ -z "$needs" ]
result $? 'of libraries it needs libc alone'
bash -n user/doc/gpumemtrace.bash-completion
result $? 'the completion is a bash script'
exit $bad
