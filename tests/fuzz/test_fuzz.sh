#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs each fuzzer for a few seconds, from seeds and with a fixed random seed, so that the inputs are the same as far as
# the seconds allow. `make fuzz` runs the fuzzers longer. A finding stays in build/fuzz/.
set -u
cd "$(dirname "$0")/../.." || exit 1
fuzz=build/fuzz
seconds=${FUZZ_SECONDS:-5}
if [ ! -x $fuzz/fuzz_record ]; then
	echo '1..0 # SKIP clang has no fuzzer runtime (libclang-rt-dev)'
	exit 0
fi
names='record recfile elf ehframe pycode pyfile elfsym unwind rewalk pairing'
for name in $names; do mkdir -p "$fuzz/seed_$name" "$fuzz/corpus_$name"; done

# Seeds: what the harnesses make of real things. A recording goes behind a zero byte (fuzz_recfile.c).
for file in tests/golden/*.gmt tests/golden/*/*.gmt tests/data/*.gmt; do
	[ -f "$file" ] && { printf '\0'; head -c 65536 "$file"; } >"$fuzz/seed_recfile/$(echo "$file" | tr / _)"
done
# A recording's compressed bytes are as good as random: the first byte asks for windows (fuzz_record.c).
for file in tests/data/*.gmt; do
	for n in 1 2 3 4; do
		{ printf '\037'; tail -c $((n * 512)) "$file" | head -c 512; } >"$fuzz/seed_record/$(basename "$file").$n"
	done
done
for file in build/standin/root/usr/lib/libcuda.so.1 build/standin/libcuda.so.1 "$(command -v true)"; do
	[ -f "$file" ] || continue
	cp "$file" "$fuzz/seed_elf/$(basename "$file")"
	cp "$file" "$fuzz/seed_pyfile/$(basename "$file")"
	cp "$file" "$fuzz/seed_elfsym/$(basename "$file")"
	# fuzz_ehframe.c: a file goes behind a zero byte, a section alone behind a one.
	{ printf '\0'; cat "$file"; } >"$fuzz/seed_ehframe/$(basename "$file")"
	objcopy -O binary --only-section=.eh_frame "$file" "$fuzz/section" &&
		{ printf '\1'; cat "$fuzz/section"; } >"$fuzz/seed_ehframe/$(basename "$file").section"
done
echo "1..$(echo "$names" | wc -w)"
n=0
bad=0
for name in $names; do
	n=$((n + 1))
	case $name in elf | ehframe | elfsym | pyfile) max=131072 ;; recfile) max=65536 ;; *) max=8192 ;; esac
	if $fuzz/fuzz_$name -seed=1 -max_total_time="$seconds" -timeout=100 -rss_limit_mb=2048 -max_len=$max \
		-artifact_prefix="$fuzz/$name-" $fuzz/corpus_$name $fuzz/seed_$name >"$fuzz/$name.log" 2>&1; then
		echo "ok $n - fuzz_$name: $(sed -n 's/^Done \([0-9]*\) runs.*/\1 runs/p' "$fuzz/$name.log")"
	else
		echo "not ok $n - fuzz_$name"
		grep -v '^#[0-9]' "$fuzz/$name.log" | tail -n 40 | sed 's/^/# /'
		bad=1
	fi
done
exit $bad
