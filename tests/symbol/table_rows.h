/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the row of a table as BPF does: by the index of its pages, then by a binary search. */
#ifndef TESTS_SYMBOL_TABLE_ROWS_H
#define TESTS_SYMBOL_TABLE_ROWS_H

#include "symbol/unwind/unwind_table.h"

/* The row that covers a vaddr; NULL outside of the module's code. */
static inline const struct gmt_unwind_row *table_row_at(const struct unwind_table *table, uint64_t vaddr)
{
	uint64_t pc = vaddr - table->base;
	uint32_t low, high;

	if (!table->words || pc >> GMT_UNWIND_PAGE_SHIFT >= table->pages)
		return NULL;
	low = table->words[pc >> GMT_UNWIND_PAGE_SHIFT].page.first;
	high = table->words[pc >> GMT_UNWIND_PAGE_SHIFT].page.end;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (unwind_table_row(table, middle)->pc <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return unwind_table_row(table, low - 1); /* row 0 has pc 0 */
}

#endif
