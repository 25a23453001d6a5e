/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of a Python process say: symbols by name, and the address ranges of the eval function. */
#ifndef GPUMEMTRACE_SYMBOL_PYTHON_PYFILE_H
#define GPUMEMTRACE_SYMBOL_PYTHON_PYFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/python.h>

#include "symbol/elf/image.h"

struct pyfile_symbol {
	const char *name;
	uint64_t vaddr;              /* 0: not found */
	uint64_t size;
};

/* Looks names up in .dynsym, then in .symtab; how many were found. */
size_t pyfile_symbols(const struct image *image, struct pyfile_symbol *symbols, size_t count);

/*
 * The eval function in vaddrs: all of it, wherever the compiler or BOLT put its parts. How many ranges,
 * 0 if it is not in this file. Without .symtab a part elsewhere is found by the conditional jumps that
 * lead into the middle of a function of its own by the call frame information.
 */
size_t pyfile_eval_ranges(const struct image *image, struct gmt_py_range ranges[GMT_PY_EVAL_RANGES]);

/* N of the version 3.N, from the strings of a CPython that has no other sign of it; 0: none. */
unsigned int pyfile_minor(const struct image *image);

/* N of "python3.N" as the last part of a path, or in "libpython3.N.so"; 0: none. */
unsigned int pyfile_minor_of_path(const char *path);

#endif
