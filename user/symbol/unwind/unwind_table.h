/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The unwinding table of one module: the blob of include/gpumemtrace/unwind.h, made from the .eh_frame
 * of an ELF file or image (symbol/elf/image.h).
 */
#ifndef GPUMEMTRACE_SYMBOL_UNWIND_UNWIND_TABLE_H
#define GPUMEMTRACE_SYMBOL_UNWIND_UNWIND_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/unwind.h>

struct image;

struct unwind_table {
	uint64_t base;             /* vaddr of pc 0: the lowest code, at the start of a 64 KiB page */
	uint32_t pages, rows;
	uint32_t fdes;
	uint32_t unsupported;      /* rows */
	uint32_t is_damaged;       /* 1: parts of the .eh_frame were left out */
	uint32_t reserved;
	union gmt_unwind_word *words; /* the blob: pages, then rows; NULL: no table */
};

/* Words of the largest table that is used, 128 MiB. libtorch_cpu's has 1.5 million (tests/bench/tables.c). */
#define UNWIND_TABLE_WORDS_MAX (16u << 20)

/* Builds the table. A module without .eh_frame gets a table of a single NONE row. 0; -ENOTSUP: not for this machine;
 * -ENOEXEC: no code; -E2BIG: 4 GiB of code or more, or over 256 MiB of .eh_frame; -ERANGE: the .eh_frame does not lie
 * in the file. Finish with unwind_table_fini(), also after an error. */
int unwind_table_build(const struct image *image, struct unwind_table *table);
void unwind_table_fini(struct unwind_table *table);

/* Whether a blob keeps the promises of unwind.h: ask this of a table from a disk before BPF sees the table. */
bool unwind_table_check(const struct unwind_table *table);

/* The range of vaddrs that has code; its start is the table's base. False: there is no code. */
bool unwind_code_range(const struct image *image, uint64_t *base, uint64_t *end);

/* Finds the .eh_frame: .eh_frame_hdr leads to the section, and the section header gives its length. Without a
 * section header the .eh_frame ends at a zero terminator. False: there is no .eh_frame. */
struct unwind_section {
	uint64_t vaddr, size;
	bool stop_at_zero;
};
bool unwind_find_section(const struct image *image, struct unwind_section *section);
/* The same, cut to what is read of it. 0; -ENOENT: there is none; -E2BIG: over 256 MiB. */
int unwind_section_to_read(const struct image *image, struct unwind_section *section);

/*
 * Fills in start, end and base of a mapping from a line of /proc/PID/maps; slot, pages, module and flags are the
 * caller's. The program headers say which vaddr a file offset has: in libcuda and other libraries the two differ.
 * False: the mapping shows none of the module's code.
 */
bool unwind_table_map(const struct image *image, uint64_t start, uint64_t end, uint64_t offset,
		      struct gmt_unwind_mapping *mapping);

/* Sets the EVAL flag of the rows in [start, end) (vaddrs); rows are split at both ends. */
void unwind_table_mark_eval(struct unwind_table *table, uint64_t start, uint64_t end);

/* Gives the code in [start, end) (vaddrs) another rule. */
void unwind_table_set_rule(struct unwind_table *table, uint64_t start, uint64_t end, enum gmt_unwind_rule rule);

/* Sets the RUNTIME flag of all rows but those of signals, which may interrupt any code. */
void unwind_table_mark_runtime(struct unwind_table *table);

static inline const struct gmt_unwind_row *unwind_table_row(const struct unwind_table *table, uint32_t i)
{
	return &table->words[(size_t)table->pages + i].row;
}

static inline size_t unwind_table_bytes(const struct unwind_table *table)
{
	return ((size_t)table->pages + table->rows) * sizeof(union gmt_unwind_word);
}

#endif
