/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds source lines and inlined functions by address, in DWARF, through libdw. No other file uses libdw or libelf.
 * A file without DWARF has no lines, which is no error.
 */
#ifndef GPUMEMTRACE_SYMBOL_ELF_LINES_H
#define GPUMEMTRACE_SYMBOL_ELF_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "symbol/elf/image.h"

#define LINES_DEBUG_MAX (512ull << 20) /* unpacked; libdw reads whole sections. A file with more has no lines */
#define LINES_DEPTH 15               /* places of one address; LINES_MORE stands for those that are too many */
#define LINES_MORE "..."

struct lines;

struct lines_place {
	const char *function;   /* the inlined function's mangled name, or else its name; NULL: not inlined */
	const char *file;       /* as the compiler had it, with its directory; NULL unknown */
	uint32_t line;          /* 0 unknown */
};

/* NULL: the DWARF is missing, too large or damaged. The image may be closed afterwards, but its bytes must stay. */
struct lines *lines_open(const struct image *image);
void lines_close(struct lines *lines);
size_t lines_bytes(const struct lines *lines); /* of the sections that libdw may read; 0 for NULL */

/* Fills in the places, the innermost first; all places but the last are inlined. If there are more than `most`, the
 * last place but one has the name LINES_MORE, and stands for all those that are left out. Returns the number of places,
 * 0 if nothing is known. Texts are valid until lines_close(). */
size_t lines_find(struct lines *lines, uint64_t vaddr, struct lines_place *places, size_t most);

#endif
