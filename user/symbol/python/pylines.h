/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the source line of an instruction in a code object's line table, whose bytes are untrusted. */
#ifndef GPUMEMTRACE_SYMBOL_PYTHON_PYLINES_H
#define GPUMEMTRACE_SYMBOL_PYTHON_PYLINES_H

#include <stddef.h>
#include <stdint.h>

#include "symbol/python/pylayout.h"

/* `lasti`: in bytes; negative: nothing has run, and the line is `first`. Returns 0 if the instruction has no line. */
int pylines_find(enum pylayout_lines format, const uint8_t *table, size_t size, int first, int lasti);

#endif
