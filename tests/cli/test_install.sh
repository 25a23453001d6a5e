#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# `make install` puts each file in its place, and the binary needs only libc, of no newer version than promised.
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
echo 1..6
make -s --no-print-directory install DESTDIR="$place" PREFIX=/usr >"$place/log" 2>&1
result $? 'make install'
found=$(cd "$place" && find usr -type f | LC_ALL=C sort)
wanted='usr/bin/gpumemtrace
usr/share/bash-completion/completions/gpumemtrace
usr/share/fish/vendor_completions.d/gpumemtrace.fish
usr/share/gpumemtrace/json-schema.json
usr/share/gpumemtrace/sqlite-schema.sql
usr/share/man/man1/gpumemtrace.1
usr/share/zsh/site-functions/_gpumemtrace'
[ "$found" = "$wanted" ] || echo "# found: $found" | tr '\n' ' '
[ "$found" = "$wanted" ]
result $? 'the binary, its manual page, the schema of its JSON and its completions are there'
needs=$(readelf -d build/gpumemtrace | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -v -e '^libc\.so' -e '^libm\.so' -e '^ld-linux' \
	-e '^libdl\.so\.2$' -e '^libpthread\.so\.0$') # parts of libc, empty from 2.34 on
[ -z "$needs" ] || echo "# it also needs $needs"
[ -z "$needs" ]
result $? 'of libraries it needs libc alone'
# A name that is told here is to be added to user/glibc_old.c.
new=$(objdump -T build/gpumemtrace | sed -n 's/.*(\(GLIBC_[^)]*\)) *\(.*\)/\1 \2/p' | while read -r version name; do
	[ "$(printf '%s\n' "$version" GLIBC_2.28 | sort -V | tail -n 1)" = GLIBC_2.28 ] || echo "# it needs $name of $version"
done)
[ -z "$new" ] || echo "$new"
[ -z "$new" ] && objdump -T build/gpumemtrace | grep -q GLIBC_
result $? 'it starts with glibc 2.28'
readelf -ld build/gpumemtrace-static >"$place/static" && ! grep -e NEEDED -e INTERP "$place/static"
result $? 'the static build needs no library at all'
wrong=0
for file in "$place"/usr/share/man/man1/gpumemtrace.1 "$place"/usr/share/gpumemtrace/json-schema.json; do
	[ "$(stat -c %a "$file")" = 644 ] || wrong=1
done
[ "$(stat -c %a "$place/usr/bin/gpumemtrace")" = 755 ] && [ "$wrong" = 0 ]
result $? 'everybody may read the files, and run the binary'
exit $bad
