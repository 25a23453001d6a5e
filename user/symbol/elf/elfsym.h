/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the functions of an ELF file by address: from .symtab, or else .dynsym and the packed rest of
 * .symtab in .gnu_debugdata ("mini debug info"), and from a separate debug file.
 *
 * The one invariant: ranges are sorted and do not overlap. Where functions overlap in the file, the one that starts
 * last has the bytes; of several names for the same bytes, the most public name is kept.
 */
#ifndef GPUMEMTRACE_SYMBOL_ELF_ELFSYM_H
#define GPUMEMTRACE_SYMBOL_ELF_ELFSYM_H

#include <stddef.h>
#include <stdint.h>

struct image;

struct elfsym_range {
	uint64_t start;         /* vaddr */
	uint32_t size;
	uint32_t name;          /* offset in names */
};

struct elfsym {
	struct elfsym_range *ranges;
	size_t count;
	struct elfsym_range *points; /* symbols without a size, sorted by start */
	size_t point_count;
	char *names;            /* copies of the string tables, one behind the other */
	size_t names_size;
};

/* Reads the symbols; `debug` is the file's separate debug file, or NULL. If every symbol is damaged, the table is
 * empty. Finish with elfsym_fini(). */
void elfsym_read(struct elfsym *symbols, const struct image *file, const struct image *debug);
void elfsym_fini(struct elfsym *symbols);

/* The name of the function that covers the address, as it is in the file (mangled), or NULL. A symbol without a size
 * counts if the call frame information of `file` says that its function begins there and covers the address; `file`
 * may be NULL. The function never returns the nearest name instead. */
const char *elfsym_find(const struct elfsym *symbols, const struct image *file, uint64_t vaddr);

/* Bytes in use. */
size_t elfsym_bytes(const struct elfsym *symbols);

#endif
