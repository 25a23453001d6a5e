#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The Makefile names every source under user/ and every unit test: a source that is not built does not exist.
set -u
cd "$(dirname "$0")/../.." || exit 1
echo 1..1
listed=$(make -s --no-print-directory print-sources | tr ' ' '\n' | sort -u)
found=$(find user tests/unit -name '*.c' | sed 's/\.c$//' | sort)
missing=$(printf '%s\n' "$found" | while read -r file; do
	printf '%s\n' "$listed" | grep -qx "$file" || echo "# $file.c is not named in the Makefile"
done)
if [ -z "$missing" ]; then
	echo 'ok 1 - all sources are built'
else
	echo 'not ok 1 - all sources are built'
	echo "$missing"
	exit 1
fi
