// SPDX-License-Identifier: BSD-2-Clause
/*
 * Any words as an unwinding table from the cache: where the check finds nothing wrong, each address has a row, as BPF
 * looks for it.
 *
 * The input is {pages, rows, words ...}. Half of the inputs are mended by the harness, so that damage is small.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/unwind/unwind_table.h"
#include "../symbol/table_rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BASE 0x1000
#define PAGES_MAX 8

/* Rows in order from 0 on, and pages that say which rows they have. */
static void mend_table(struct unwind_table *t)
{
	union gmt_unwind_word *rows = t->words + t->pages;
	uint32_t row = 0;

	rows[0].row.pc = 0;
	for (uint32_t i = 1; i < t->rows; i++)
		rows[i].row.pc = rows[i - 1].row.pc + 1 + rows[i].row.pc % (1u << 14);
	for (uint32_t page = 0; page < t->pages; page++) {
		struct gmt_unwind_page is = { .first = row };

		while (row < t->rows && rows[row].row.pc >> GMT_UNWIND_PAGE_SHIFT == page)
			row++;
		is.end = row;
		t->words[page].page = is;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unwind_table table = { .base = BASE };

	if (size < 2 + sizeof(*table.words))
		return 0;
	table.pages = data[0] % (PAGES_MAX + 1);
	size = (size - 2) / sizeof(*table.words);
	table.rows = table.pages < size ? (uint32_t)size - table.pages : 0;
	table.words = malloc((size_t)(table.pages + table.rows + 1) * sizeof(*table.words));
	if (!table.words)
		return 0;
	memcpy(table.words, data + 2, size * sizeof(*table.words));
	if (data[1] & 1 && table.pages && table.rows)
		mend_table(&table);
	if (unwind_table_check(&table)) {
		for (uint64_t at = 0; at < (uint64_t)table.pages << GMT_UNWIND_PAGE_SHIFT; at += 1021)
			if (!table_row_at(&table, BASE + at))
				abort();
		unwind_table_mark_eval(&table, BASE + data[0], BASE + 300u * data[1]);
		if (!unwind_table_check(&table))
			abort();
	}
	unwind_table_fini(&table);
	return 0;
}
