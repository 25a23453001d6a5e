/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the functions of an ELF file by address: from .symtab, or else .dynsym and the packed rest of
 * .symtab in .gnu_debugdata ("mini debug info"), and from a separate debug file.
 *
 * The one invariant: ranges are sorted and do not overlap. Where functions overlap in the file, the one that starts
 * last has the bytes. Of several names for the same bytes, the most public name is kept, of these the shortest name,
 * and of these the first name in the file's strings.
 */
#ifndef GPUMEMTRACE_SYMBOL_ELF_ELFSYM_H
#define GPUMEMTRACE_SYMBOL_ELF_ELFSYM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/elf/symtab.h"

#define ELFSYM_NAME_BYTES SYMTAB_NAME_BYTES /* with its NUL */

struct image;

struct elfsym_range {
	uint64_t start;         /* vaddr */
	uint32_t size;
	uint32_t name;          /* offset in the file's strings; from strings_size on, in `names` */
};

struct elfsym {
	struct elfsym_range *ranges;
	size_t count;
	struct elfsym_range *points; /* symbols without a size, sorted by start */
	size_t point_count;
	uint64_t strings;       /* offset of the strings in the file, which has them until a name is asked for */
	uint32_t strings_size;  /* bytes; 0: no name is in the file */
	char *names;            /* strings that are not in the file: copies */
	size_t names_size;      /* bytes */
};

/* Reads the symbols; `debug` is the file's separate debug file, or NULL. If every symbol is damaged, the table is
 * empty. Finish with elfsym_fini(). */
void elfsym_read(struct elfsym *symbols, const struct image *file, const struct image *debug);
void elfsym_fini(struct elfsym *symbols);

/* The name of the function that covers the address, as it is in the file (mangled). `file` is the open file of which
 * the symbols were read. False: there is no name, or the file has changed and has none there any more. A symbol
 * without a size counts if the call frame information says that its function begins there and covers the address. The
 * function never takes the nearest name instead.
 *
 * A name costs one read of at most ELFSYM_NAME_BYTES, and searches in sorted tables: of the symbols in memory and, for
 * a symbol without a size, of .eh_frame_hdr in the file (some 40 reads at most). */
bool elfsym_find(const struct elfsym *symbols, const struct image *file, uint64_t vaddr, char name[ELFSYM_NAME_BYTES]);

/* Bytes in use. */
size_t elfsym_bytes(const struct elfsym *symbols);

#endif
