/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads CPython's str objects as UTF-8. */
#ifndef GPUMEMTRACE_SYMBOL_PYTHON_PYTEXT_H
#define GPUMEMTRACE_SYMBOL_PYTHON_PYTEXT_H

#include <stddef.h>
#include <stdint.h>

#include "symbol/python/pylayout.h"

/*
 * Reads up to `most` characters of the str at `addr` into a string for free(); a longer str ends in "...". A code point
 * that is no character (half a surrogate pair) becomes U+FFFD, a control character '?'. 0; -EINVAL: not a str of the
 * compact kind that the compiler makes; else the -errno of `read`.
 */
int pytext_read(const struct pylayout *layout, uint64_t addr, size_t most, py_read_fn read, void *arg,
		char **text);

/* Converts characters of 1, 2 or 4 bytes each. `out` has room for 4 * count + 1 bytes. Returns the length. */
size_t pytext_utf8(const void *chars, size_t count, unsigned int kind, char *out);

#endif
