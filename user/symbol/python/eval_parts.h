/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the parts of CPython's eval function that the compiler put elsewhere, by jumps, in a file without symbols. */
#ifndef GPUMEMTRACE_SYMBOL_PYTHON_EVAL_PARTS_H
#define GPUMEMTRACE_SYMBOL_PYTHON_EVAL_PARTS_H

#include <stddef.h>

#include <gpumemtrace/python.h>

#include "symbol/elf/image.h"

#define EVAL_PARTS_MAX 8

/* Writes what the call frame information calls another function, but the eval function jumps into the middle of.
 * Returns how many parts. */
size_t eval_parts(const struct image *image, const struct gmt_py_range *eval,
		  struct gmt_py_range parts[EVAL_PARTS_MAX]);

#endif
