/* SPDX-License-Identifier: BSD-2-Clause */
/* What unwind_test.bpf.c leaves for unwind_test.c. */
#ifndef TESTS_SYMBOL_UNWIND_TEST_H
#define TESTS_SYMBOL_UNWIND_TEST_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#define TEST_FRAMES 256
#define TEST_RESULTS 64
#define TEST_SHARD_WORDS (1u << 18)
#define TEST_SHARDS 8

struct test_result {
	__u32 hits;
	__u32 reason;
	__u32 count;
	__u32 nanoseconds;
	__u64 frames[TEST_FRAMES];
};

#endif
