/* SPDX-License-Identifier: BSD-2-Clause */
/* Python frames of a thread from outside of it: what bpf/python.bpf.h does in the kernel, through a read
 * callback. For tests and late checks. The thread should not run meanwhile. */
#ifndef GPUMEMTRACE_SYMBOL_PYTHON_PYSTACK_H
#define GPUMEMTRACE_SYMBOL_PYTHON_PYSTACK_H

#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/python.h>

#include "symbol/python/pycode.h"

/*
 * The frames, innermost first; how many. `tp`: the thread pointer (fs base, tpidr_el0). `calls`, unless
 * NULL, becomes the number of calls of the eval function that they belong to. *reason: why it ended.
 */
size_t pystack_walk(const struct gmt_py_config *config, uint64_t tp, pycode_read read, void *arg,
		    struct gmt_py_frame *frames, size_t max, size_t *calls, enum gmt_py_reason *reason);

/* The address of the thread's Python thread state, 0 if there is none. */
uint64_t pystack_tstate(const struct gmt_py_config *config, uint64_t tp, pycode_read read, void *arg);

#endif
