/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the files of a Python process: symbols by name, the address ranges of the eval function, the version. */
#ifndef GPUMEMTRACE_SYMBOL_PYTHON_PYFILE_H
#define GPUMEMTRACE_SYMBOL_PYTHON_PYFILE_H

#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/python.h>

#include "symbol/elf/image.h"

struct pyfile_symbol {
	const char *name;
	uint64_t vaddr;              /* 0: not found */
	uint64_t size;
};

/* Looks names up in .dynsym, then in .symtab. Returns how many were found. */
size_t pyfile_symbols(const struct image *image, struct pyfile_symbol *symbols, size_t count);

/*
 * Finds the eval function in vaddrs, with all parts that the compiler or BOLT put elsewhere. Returns how many ranges, 0
 * if the function is not in this file, or has too many or too large parts. Without .symtab the other parts are found by
 * jumps (eval_parts.h).
 */
size_t pyfile_eval_ranges(const struct image *image, struct gmt_py_range ranges[GMT_PY_EVAL_RANGES]);

/* N of the version 3.N, from the strings of a CPython without Py_Version; 0: not found. */
unsigned int pyfile_minor(const struct image *image);

/* N of "python3.N" as the last part of a path, or in "libpython3.N.so"; 0: not found. */
unsigned int pyfile_minor_of_path(const char *path);

#endif
