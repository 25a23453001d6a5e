/* SPDX-License-Identifier: BSD-2-Clause */
/* The maps' values that python_test.bpf.c hands to pystack_bpf.c. */
#ifndef TESTS_SYMBOL_PYTHON_TEST_H
#define TESTS_SYMBOL_PYTHON_TEST_H

#include <gpumemtrace/python.h>

struct python_test_stack {
	__u32 count;
	__u32 calls;
	__u32 reason;
	__u32 nanoseconds;
	struct gmt_py_frame frames[GMT_PY_FRAMES_MAX];
};

#endif
