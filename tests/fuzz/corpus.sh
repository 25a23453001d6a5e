#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# `make fuzz-corpus`: keeps in tests/fuzz/corpus the inputs that reach the most of each parser, out of those that are there
# and those that fuzzing has found. Inputs of more than MOST_BYTES stay out, so that the tree stays small.
set -eu
cd "$(dirname "$0")/../.."
. tests/fuzz/fuzzers.sh
MOST_BYTES=${MOST_BYTES:-2048}
make_seeds
for name in $names; do
	new=$fuzz/merged_$name
	small=$fuzz/small_$name
	rm -rf "$new" "$small"
	mkdir -p "$new" "$small"
	find "tests/fuzz/corpus/$name" "$fuzz/corpus_$name" "$fuzz/seed_$name" -type f -size "-$((MOST_BYTES + 1))c" \
		-exec cp -t "$small" {} +
	# Edges alone, not how often each is taken: a tenth of the files.
	"$fuzz/fuzz_$name" -set_cover_merge=1 -use_counters=0 -max_len="$(max_len "$name")" "$new" "$small" >"$fuzz/$name.merge.log" 2>&1
	rm -rf "tests/fuzz/corpus/$name"
	mv "$new" "tests/fuzz/corpus/$name"
	rm -rf "$small"
	echo "$name: $(find "tests/fuzz/corpus/$name" -type f | wc -l) files, $(du -bs "tests/fuzz/corpus/$name" | cut -f1) bytes"
done
