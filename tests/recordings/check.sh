#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The converter still makes the committed recordings, headers and all. Needs the sequences that the recordings were made
# from: in $GMT_SEQUENCES, or in a directory `data` beside the source tree; else the check is skipped.
set -u
cd "$(dirname "$0")/../.." || exit 1
sequences=${GMT_SEQUENCES:-}
if [ -z "$sequences" ]; then
	for file in ../*/data/h100-torch2.11-native.tsv; do
		if [ -f "$file" ]; then sequences=$(dirname "$file"); fi
	done
fi
if [ -z "$sequences" ]; then
	echo '1..0 # SKIP the sequences are not here (GMT_SEQUENCES)'
	exit 0
fi
echo 1..1
new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT
if python3 -B tests/recordings/tsv2records.py "$sequences" "$new" >"$new/log" 2>&1 && rm "$new/log" &&
	diff -r -x README.md -x kept -x found "$new" tests/data >/dev/null 2>&1; then
	echo 'ok 1 - a fresh conversion gives the committed files'
else
	echo 'not ok 1 - a fresh conversion gives the committed files'
	diff -rq -x README.md -x kept -x found "$new" tests/data | sed 's/^/# /'
	sed 's/^/# /' "$new/log" 2>/dev/null
	exit 1
fi
