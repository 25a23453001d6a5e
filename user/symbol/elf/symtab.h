/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the functions of a symbol table of an ELF file (elf(5)). The table and its strings are read in pieces, and the
 * strings are not kept: those of libtorch_cpu.so (torch 2.11) have 80 MB.
 *
 * The one invariant: each function has code in the file and a name of 1 to SYMTAB_NAME_BYTES - 1 bytes.
 */
#ifndef GPUMEMTRACE_SYMBOL_ELF_SYMTAB_H
#define GPUMEMTRACE_SYMBOL_ELF_SYMTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/elf/demangle.h"

#define SYMTAB_NAME_BYTES (DEMANGLE_INPUT_MAX + 1) /* with its NUL; a function with a longer name has no name */

struct image;

struct symtab_function {
	uint64_t start;         /* vaddr */
	uint64_t size;          /* bytes, not beyond the segment in which the function starts; 0: unknown */
	uint32_t name;          /* offset in the strings */
	uint16_t name_size;     /* bytes, without the NUL */
	uint8_t rank;           /* of several names for the same bytes: the lowest rank is the most public name */
	uint8_t info;           /* st_info */
};

struct symtab {
	struct symtab_function *functions; /* sorted by name */
	size_t count;
	uint64_t strings;       /* offset of the strings in the file that has the table */
	uint32_t strings_size;  /* bytes */
};

/* Reads the first table of a type (SHT_SYMTAB, SHT_DYNSYM) of `from`. `file` has the segments: the segments of a debug
 * file do not say how large they are in the file. False: `from` has no such table that can be read; `table` is empty.
 * Finish with symtab_fini(). */
bool symtab_read(struct symtab *table, const struct image *file, const struct image *from, uint32_t type);
void symtab_fini(struct symtab *table);

#endif
