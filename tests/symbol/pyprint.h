/* SPDX-License-Identifier: BSD-2-Clause */
/* Python frames as lines: function, file, line, separated by tabs, innermost first. */
#ifndef TESTS_SYMBOL_PYPRINT_H
#define TESTS_SYMBOL_PYPRINT_H

#include <stddef.h>
#include <sys/types.h>

#include "symbol/python/pyversion.h"

/* Finds CPython, or says why not and ends the program with status 3. */
void pyprint_find(pid_t pid, struct pyversion *python);

/* Hidden frames are left out, as Python's own tracebacks do. */
void pyprint_frames(const struct pyversion *python, pid_t pid, const struct gmt_py_frame *frames, size_t count);

const char *pyprint_reason(unsigned int reason);

#endif
