/* SPDX-License-Identifier: BSD-2-Clause */
/* The source line of an instruction, from a code object's table of lines: bytes that nobody vouches for. */
#ifndef GPUMEMTRACE_SYMBOL_PYTHON_PYLINES_H
#define GPUMEMTRACE_SYMBOL_PYTHON_PYLINES_H

#include <stddef.h>
#include <stdint.h>

#include "symbol/python/pylayout.h"

/* `lasti`: in bytes; negative: nothing was run yet, the line is `first`. 0: the instruction has none. */
int pylines_find(enum pylayout_lines format, const uint8_t *table, size_t size, int first, int lasti);

#endif
