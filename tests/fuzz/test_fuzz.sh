#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs each fuzzer on its corpus and for a few seconds from there, with a fixed random seed, so that the inputs are the same
# as far as the seconds allow; and a mistake that was planted again has to be found. `make fuzz` runs the fuzzers longer. A
# finding stays in build/fuzz/.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/fuzz/fuzzers.sh
seconds=${FUZZ_SECONDS:-4}
planted='record'
most=60          # seconds, in which the planted mistake is found; 0.2 s on a quiet machine
if [ ! -x $fuzz/fuzz_record ]; then
	echo '1..0 # SKIP clang has no fuzzer runtime (libclang-rt-dev)'
	exit 0
fi
make_seeds
n=0
bad=0

# result NAME MORE: of the last command.
result() {
	if [ "$ok" -eq 0 ]; then echo "ok $n - $1: $2"; else echo "not ok $n - $1: $2"; bad=1; fi
}

# options NAME SECONDS
options() {
	echo "-seed=1 -entropic=0 -max_total_time=$2 -timeout=100 -rss_limit_mb=2048 -max_len=$(max_len "$1") ${FUZZ_RUNS:+-runs=$FUZZ_RUNS}"
}

echo "1..$(echo "$names" "$planted" | wc -w)"
for name in $names; do
	n=$((n + 1))
	inputs=$(find "tests/fuzz/corpus/$name" -type f | wc -l)
	# shellcheck disable=SC2046
	$fuzz/fuzz_$name $(options "$name" "$seconds") -print_final_stats=1 -artifact_prefix="$fuzz/$name-" $fuzz/corpus_$name \
		tests/fuzz/corpus/$name $fuzz/seed_$name >"$fuzz/$name.log" 2>&1
	ok=$?
	[ "$inputs" -gt 0 ] || { ok=1; echo "# tests/fuzz/corpus has nothing for fuzz_$name: make fuzz F=$name, then make fuzz-corpus"; }
	result "fuzz_$name" "$inputs inputs, $(sed -n 's/^Done \([0-9]*\) runs in \([0-9]*\).*/\1 runs in \2 s/p' "$fuzz/$name.log"), $(
		sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$fuzz/$name.log" | tail -n 1) edges"
	[ $ok -eq 0 ] || grep -v '^#[0-9]' "$fuzz/$name.log" | tail -n 40 | sed 's/^/# /'
done
for name in $planted; do
	n=$((n + 1))
	started=$(date +%s)
	mkdir -p $fuzz/planted/corpus_$name
	# shellcheck disable=SC2046
	$fuzz/planted/fuzz_$name $(options "$name" $most) -artifact_prefix="$fuzz/planted/$name-" $fuzz/planted/corpus_$name \
		$fuzz/seed_$name >"$fuzz/planted/$name.log" 2>&1
	ok=1
	grep -q 'AddressSanitizer' "$fuzz/planted/$name.log" && ok=0
	result "fuzz_$name finds the planted mistake" "$(($(date +%s) - started)) s"
	rm -rf $fuzz/planted/corpus_$name $fuzz/planted/"$name"-*
done
exit $bad
