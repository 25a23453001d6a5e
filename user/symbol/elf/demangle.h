/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Turns mangled names into readable ones: C++ (Itanium ABI) and Rust (legacy and v0), by libiberty, as nm, gdb and
 * perf do. Any other text, and a name that is too long, comes back unchanged (cut to the room).
 */
#ifndef GPUMEMTRACE_SYMBOL_ELF_DEMANGLE_H
#define GPUMEMTRACE_SYMBOL_ELF_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

#define DEMANGLE_INPUT_MAX 8192 /* longer names stay mangled; the longest seen, of torch, has 5 KiB */

/* Writes the name and NUL, at most `size` bytes; a longer name is cut and ends in "...". With
 * `params` the parameters are kept ("f(int)"), else "f". Returns whether it was a mangled name. */
bool demangle(const char *symbol, bool params, char *out, size_t size);

/*
 * For reports: at most `width` bytes and NUL (`size` > width). Without parameters and return type; if that is still
 * too wide, template arguments become "<>", the outer ones last; then leading scopes become "...", as the last
 * part says most. A width of 0 is no limit but `size`.
 */
void demangle_short(const char *symbol, size_t width, char *out, size_t size);

#endif
