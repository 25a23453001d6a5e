#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Shell scripts pass shellcheck where shellcheck is installed, and parse elsewhere. Python scripts compile.
set -u
cd "$(dirname "$0")/../.." || exit 1
scripts=$(find . -name .git -prune -o -path ./build -prune -o -type f -print | while read -r file; do
	head -n 1 "$file" 2>/dev/null | grep -aq '^#!.*sh$' && echo "$file"
done)
pythons=$(find . -name .git -prune -o -path ./build -prune -o -type f -print | while read -r file; do
	head -n 1 "$file" 2>/dev/null | grep -aq '^#!.*python3$' && echo "$file"
done)
bad=0
result() {
	if [ "$2" = 0 ]; then echo "ok $1 - $3"; else echo "not ok $1 - $3"; bad=1; sed 's/^/# /' "$out"; fi
}
out=$(mktemp)
trap 'rm -f "$out"' EXIT
echo 1..3
status=0
for file in $scripts; do
	shell=$(head -n 1 "$file" | grep -o '[a-z]*sh$')
	"$shell" -n "$file" >>"$out" 2>&1 || status=1
done
result 1 $status 'shell scripts parse'
: >"$out"
status=0
if command -v shellcheck >/dev/null 2>&1; then
	# shellcheck disable=SC2086 # the names have no blanks
	shellcheck -x -S warning $scripts >"$out" 2>&1 || status=1
	result 2 $status 'shellcheck finds nothing'
else
	echo 'ok 2 - shellcheck finds nothing # SKIP shellcheck is not installed'
fi
: >"$out"
status=0
for file in $pythons; do
	python3 -c 'import ast, sys; ast.parse(open(sys.argv[1], encoding="utf-8").read(), sys.argv[1])' "$file" >>"$out" 2>&1 || status=1
done
result 3 $status 'Python scripts parse'
exit $bad
