# SPDX-License-Identifier: BSD-2-Clause
# What test_fuzz.sh and corpus.sh share: the fuzzers, their seeds, and how long their inputs are.
# shellcheck shell=sh disable=SC2034
fuzz=build/fuzz
names=${FUZZERS:-record orders recfile outputs ehframe table elf elfsym pycode pyfile unwind rewalk pairing joint text cli}

# Short stacks of allocations, and memory that is used again soon: as much again of inputs a second.
export ASAN_OPTIONS=malloc_context_size=4:quarantine_size_mb=16:allocator_release_to_os_interval_ms=-1

max_len() {
	case $1 in elf | ehframe | elfsym | pyfile) echo 131072 ;; recfile) echo 65536 ;; record | outputs) echo 4096 ;; *) echo 8192 ;; esac
}

# Seeds: what the harnesses make of real things.
make_seeds() {
	for name in $names; do mkdir -p "$fuzz/seed_$name" "$fuzz/corpus_$name" "tests/fuzz/corpus/$name"; done
	mkdir -p $fuzz/seed_record $fuzz/seed_outputs $fuzz/seed_recfile $fuzz/seed_elf $fuzz/seed_pyfile $fuzz/seed_elfsym \
		$fuzz/seed_ehframe $fuzz/seed_text
	# A recording goes behind a zero byte (fuzz_recfile.c).
	for file in tests/golden/*.gmt tests/golden/*/*.gmt tests/data/*.gmt; do
		[ -f "$file" ] && { printf '\0'; head -c 65536 "$file"; } >"$fuzz/seed_recfile/$(echo "$file" | tr / _)"
	done
	# A recording's compressed bytes are as good as random: the first byte asks for windows (fuzz_record.c, fuzz_outputs.c).
	for file in tests/data/*.gmt; do
		for n in 1 2 3 4; do
			{ printf '\037'; tail -c $((n * 512)) "$file" | head -c 512; } >"$fuzz/seed_record/$(basename "$file").$n"
			for part in '\003' '\103' '\203' '\303'; do
				{ printf '%b' "\\0${part#\\}"; tail -c $((n * 512)) "$file" | head -c 512; } \
					>"$fuzz/seed_outputs/$(basename "$file").$n${part#\\}"
			done
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
	# fuzz_text.c: the byte of the parser, and this machine's own text.
	{ printf '\000'; head -c 2000 /proc/self/maps; } >$fuzz/seed_text/maps
	{ printf '\001'; cat /proc/self/stat; } >$fuzz/seed_text/stat
	{ printf '\002'; cat /proc/self/status; } >$fuzz/seed_text/status
	{ printf '\003'; cat /proc/self/cgroup; } >$fuzz/seed_text/cgroup
	{ printf '\004'; cat /proc/self/cmdline; } >$fuzz/seed_text/cmdline
	printf '\005PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True,backend:cudaMallocAsync\0A=b\0' >$fuzz/seed_text/environ
	printf '\006NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release\nGPU-b71e4d02-6f53-4c1a-9d30-27a8e45b9011' \
		>$fuzz/seed_text/version
	{ printf '\007'; head -c 3000 user/symbol/owners.conf; } >$fuzz/seed_text/owners
	printf '\010_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE' >$fuzz/seed_text/cxx
	printf '\010_RNvCskwGfYPst2Cb_3foo16example_function' >$fuzz/seed_text/rust
	printf '\012-8@%%rax -1@%%dl 8@-56(%%rbp) -4@$0' >$fuzz/seed_text/usdt
}
