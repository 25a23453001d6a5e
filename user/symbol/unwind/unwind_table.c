// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/unwind/unwind_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "symbol/unwind/bare_code.h"
#include "symbol/unwind/ehframe.h"
#include "symbol/elf/image.h"

#define EH_FRAME_MAX (256u << 20)  /* libtorch_cpu's has 10 MiB */
#define PAGE_BYTES (1u << GMT_UNWIND_PAGE_SHIFT)
#define ROWS_MAX (UINT32_MAX / 2)
#define FUNCTION_ALIGN 16          /* GCC's and clang's -falign-functions on x86-64, and the least that
				    * hand-written assembly uses */

struct builder {
	struct unwind_table *table;
	uint64_t start, end;       /* vaddrs of the FDE whose rows come */
	bool full;
};

static bool is_code(const struct image_segment *segment)
{
	return segment->executable && segment->file_size;
}

bool unwind_code_range(const struct image *image, uint64_t *base, uint64_t *end)
{
	uint64_t low = UINT64_MAX, high = 0;

	for (uint32_t i = 0; i < image->segment_count; i++) {
		const struct image_segment *segment = &image->segments[i];

		if (!is_code(segment) || segment->vaddr + segment->file_size < segment->vaddr)
			continue;
		if (segment->vaddr < low)
			low = segment->vaddr;
		if (segment->vaddr + segment->file_size > high)
			high = segment->vaddr + segment->file_size;
	}
	*base = low & ~(uint64_t)(PAGE_BYTES - 1);
	*end = high;
	return low < high;
}

bool unwind_table_map(const struct image *image, uint64_t start, uint64_t end, uint64_t offset,
		      struct gmt_unwind_mapping *mapping)
{
	uint64_t base, code_end;

	if (!unwind_code_range(image, &base, &code_end) || end <= start || offset + (end - start) < offset)
		return false;
	for (uint32_t i = 0; i < image->segment_count; i++) {
		const struct image_segment *segment = &image->segments[i];

		if (!is_code(segment) || offset + (end - start) <= segment->offset ||
		    segment->offset + segment->file_size <= offset)
			continue;
		mapping->start = start;
		mapping->end = end;
		/* The base may be below 0 if the code is not, because arithmetic is modulo 2^64. */
		mapping->base = start - offset + segment->offset - segment->vaddr + base;
		return true;
	}
	return false;
}

bool unwind_find_section(const struct image *image, struct unwind_section *section)
{
	const Elf64_Shdr *header = image_section(image, ".eh_frame", 0);
	unsigned char data[EH_HEADER_BYTES];
	struct eh_bytes bytes = { data, sizeof(data), image->eh_frame_hdr };
	const struct image_segment *segment;
	struct eh_header hdr;

	*section = (struct unwind_section){ 0 };
	if (header && header->sh_type == SHT_NOBITS)   /* a separate debug file */
		header = NULL;
	if (image->eh_frame_hdr && image_read_at(image, image->eh_frame_hdr, data, sizeof(data)) &&
	    eh_header_read(&bytes, &hdr))
		section->vaddr = hdr.eh_frame;
	else if (header)
		section->vaddr = header->sh_addr;
	else
		return false;
	if (header && header->sh_addr == section->vaddr) {
		section->size = header->sh_size;
	} else {
		section->stop_at_zero = true;
		segment = image_segment_at(image, section->vaddr);
		section->size = segment ? segment->file_size - (section->vaddr - segment->vaddr) : 0;
	}
	return section->size > 0;
}

int unwind_section_to_read(const struct image *image, struct unwind_section *section)
{
	if (!unwind_find_section(image, section))
		return -ENOENT;
	if (section->size > EH_FRAME_MAX && !section->stop_at_zero)
		return -E2BIG;
	if (section->size > EH_FRAME_MAX)
		section->size = EH_FRAME_MAX;
	return 0;
}

static bool same_rule(const struct gmt_unwind_row *a, const struct gmt_unwind_row *b)
{
	return a->rule == b->rule && a->cfa == b->cfa && a->fp == b->fp;
}

static void push_row(struct builder *b, uint64_t vaddr, const struct gmt_unwind_row *row)
{
	struct unwind_table *t = b->table;
	union gmt_unwind_word *last = t->words + t->pages + t->rows - 1;
	struct gmt_unwind_row new = *row;

	new.pc = (uint32_t)(vaddr - t->base);
	if (t->rows && last->row.pc == new.pc) {
		last->row = new;
		return;
	}
	if (t->rows && same_rule(&last->row, &new))
		return;
	if (t->rows == ROWS_MAX) {
		b->full = true;
		return;
	}
	t->words = xgrow(t->words, (size_t)t->pages + t->rows, sizeof(*t->words));
	t->words[(size_t)t->pages + t->rows++].row = new;
}

static void push_fde_row(void *arg, uint64_t offset, const struct gmt_unwind_row *row)
{
	struct builder *b = arg;

	if (b->start + offset < b->end)
		push_row(b, b->start + offset, row);
}

static int compare_fdes(const void *a, const void *b)
{
	const struct eh_fde *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->size > y->size ? -1 : x->size < y->size;
}

/* Drops FDEs that describe no code, cuts the other FDEs to the code, and sorts them. */
static void prepare_fdes(struct ehframe *eh, const struct image *image, const struct unwind_table *table)
{
	uint64_t limit = (uint64_t)table->pages << GMT_UNWIND_PAGE_SHIFT;
	size_t kept = 0;
	bool sorted = true;

	for (size_t i = 0; i < eh->fde_count; i++) {
		struct eh_fde fde = eh->fdes[i];
		const struct image_segment *code = image_code_at(image, fde.start);
		uint64_t room = code ? code->vaddr + code->file_size - fde.start : 0;

		if (fde.size > room)
			fde.size = room;
		if (!fde.size || fde.start - table->base >= limit || fde.size > limit - (fde.start - table->base))
			continue;
		if (kept && eh->fdes[kept - 1].start >= fde.start)
			sorted = false;
		eh->fdes[kept++] = fde;
	}
	eh->fde_count = kept;
	if (!sorted)
		qsort(eh->fdes, kept, sizeof(*eh->fdes), compare_fdes);
}

/*
 * Where FDEs overlap, the one that begins later has the code. Bytes between the end of an FDE and the next alignment
 * boundary, if the next FDE begins there, are padding that nothing executes: the rule before the padding goes on, and
 * the padding gets no row.
 */
static void add_rows(struct builder *b, const struct ehframe *eh)
{
	static const struct gmt_unwind_row none = { .rule = GMT_UNWIND_NONE };
	uint64_t end = b->table->base;

	push_row(b, end, &none);
	for (size_t i = 0; i < eh->fde_count && !b->full; i++) {
		const struct eh_fde *fde = &eh->fdes[i];

		if (i && eh->fdes[i - 1].start == fde->start)
			continue;
		if (((end + FUNCTION_ALIGN - 1) & ~(uint64_t)(FUNCTION_ALIGN - 1)) < fde->start)
			push_row(b, end, &none);
		b->start = fde->start;
		b->end = fde->start + fde->size;
		for (size_t j = i + 1; j < eh->fde_count && eh->fdes[j].start < b->end; j++) {
			if (eh->fdes[j].start > b->start) {
				b->end = eh->fdes[j].start;
				break;
			}
		}
		ehframe_rows(eh, fde, push_fde_row, b);
		end = b->end;
		b->table->fdes++;
	}
	push_row(b, end, &none);
}

/* The rows of a page, of which row `first` is the first. */
static struct gmt_unwind_page rows_of_page(const struct unwind_table *t, uint32_t page, uint32_t first)
{
	const union gmt_unwind_word *rows = t->words + t->pages;
	uint64_t page_end = ((uint64_t)page + 1) << GMT_UNWIND_PAGE_SHIFT;
	struct gmt_unwind_page found = { first, first };

	while (found.end < t->rows && rows[found.end].row.pc < page_end)
		found.end++;
	return found;
}

static void build_index(struct unwind_table *t)
{
	uint32_t row = 0;

	for (uint32_t page = 0; page < t->pages; page++) {
		t->words[page].page = rows_of_page(t, page, row);
		row = t->words[page].page.end;
	}
	t->unsupported = 0;
	for (uint32_t i = 0; i < t->rows; i++)
		t->unsupported += (unwind_table_row(t, i)->rule & GMT_UNWIND_RULE_MASK) == GMT_UNWIND_UNSUPPORTED;
}

/* Makes a row begin at a pc; returns its number. */
static uint32_t split_row(struct unwind_table *t, uint32_t pc)
{
	uint32_t row = t->rows - 1;
	union gmt_unwind_word *at;

	while (unwind_table_row(t, row)->pc > pc) /* row 0 has pc 0 */
		row--;
	if (unwind_table_row(t, row)->pc == pc)
		return row;
	t->words = xreallocarray(t->words, (size_t)t->pages + t->rows + 1, sizeof(*t->words));
	at = t->words + t->pages + row;
	memmove(at + 1, at, (t->rows - row) * sizeof(*at));
	at[1].row.pc = pc;
	t->rows++;
	build_index(t);
	return row + 1;
}

/* Splits rows so that the code in [start, end) has rows of its own: from `first` up to `last`. False: no such code. */
static bool split_rows(struct unwind_table *table, uint64_t start, uint64_t end, uint32_t *first, uint32_t *last)
{
	uint64_t limit = (uint64_t)table->pages << GMT_UNWIND_PAGE_SHIFT;

	if (!table->words || start < table->base || end <= start || start - table->base >= limit)
		return false;
	*first = split_row(table, (uint32_t)(start - table->base));
	*last = end - table->base < limit ? split_row(table, (uint32_t)(end - table->base)) : table->rows;
	return true;
}

/* Gives the rows in [start, end) other rules: what remains of a rule is the mask. */
static void change_rules(struct unwind_table *table, uint64_t start, uint64_t end, uint8_t mask, uint8_t rule)
{
	uint32_t row, last;

	for (bool any = split_rows(table, start, end, &row, &last); any && row < last; row++) {
		union gmt_unwind_word *word = &table->words[(size_t)table->pages + row];

		word->row.rule = (word->row.rule & mask) | rule;
	}
}

/* Code that no FDE covers gets the rows that are known of it. */
static void add_bare_code(struct unwind_table *table, const struct image *image)
{
	struct bare_code found[BARE_CODE_MAX];
	size_t count = bare_code_find(image, found);

	for (size_t i = 0; i < count; i++) {
		uint32_t at, last;

		for (bool any = split_rows(table, found[i].start, found[i].end, &at, &last); any && at < last; at++) {
			struct gmt_unwind_row *row = &table->words[(size_t)table->pages + at].row, known = found[i].row;

			known.pc = row->pc;
			if (row->rule == GMT_UNWIND_NONE)
				*row = known;
		}
	}
}

static int build_rows(const struct image *image, struct unwind_table *table, const unsigned char *data,
		      const struct unwind_section *section)
{
	struct builder b = { .table = table };
	struct eh_bytes bytes = { data, section->size, section->vaddr };
	struct ehframe eh;
	int err;

	err = ehframe_parse(&eh, &bytes, image->machine, section->stop_at_zero);
	if (err)
		return err;
	prepare_fdes(&eh, image, table);
	for (uint32_t page = 0; page < table->pages; page++) /* filled in by build_index() */
		table->words = xgrow(table->words, page, sizeof(*table->words));
	add_rows(&b, &eh);
	table->is_damaged = eh.is_damaged || b.full;
	table->words = xreallocarray(table->words, (size_t)table->pages + table->rows, sizeof(*table->words));
	build_index(table);
	add_bare_code(table, image);
	ehframe_fini(&eh);
	return 0;
}

int unwind_table_build(const struct image *image, struct unwind_table *table)
{
	struct unwind_section section;
	unsigned char *data = NULL;
	uint64_t end;
	int err;

	*table = (struct unwind_table){ 0 };
	if (!unwind_code_range(image, &table->base, &end))
		return -ENOEXEC;
	if (end - table->base > UINT32_MAX)
		return -E2BIG;
	table->pages = (uint32_t)((end - table->base + PAGE_BYTES - 1) >> GMT_UNWIND_PAGE_SHIFT);
	err = unwind_section_to_read(image, &section);
	if (err == -ENOENT)
		section.size = 0;
	else if (err)
		return err;
	data = malloc(section.size + 1);
	if (!data)
		return -ENOMEM;
	if (section.size && !image_read_at(image, section.vaddr, data, section.size))
		err = -ERANGE;
	else
		err = build_rows(image, table, data, &section);
	free(data);
	return err;
}

void unwind_table_fini(struct unwind_table *table)
{
	free(table->words);
	*table = (struct unwind_table){ 0 };
}

bool unwind_table_check(const struct unwind_table *t)
{
	const union gmt_unwind_word *rows = t->words + t->pages;
	uint32_t row = 0;

	if (!t->words || !t->pages || !t->rows || t->pages > 1u << (32 - GMT_UNWIND_PAGE_SHIFT) || rows[0].row.pc)
		return false;
	for (uint32_t i = 1; i < t->rows; i++)
		if (rows[i].row.pc <= rows[i - 1].row.pc)
			return false;
	for (uint32_t page = 0; page < t->pages; page++) {
		struct gmt_unwind_page want = rows_of_page(t, page, row), is = t->words[page].page;

		if (is.first != want.first || is.end != want.end)
			return false;
		row = want.end;
	}
	return row == t->rows;
}

void unwind_table_mark_eval(struct unwind_table *table, uint64_t start, uint64_t end)
{
	if (end - table->base < (uint64_t)table->pages << GMT_UNWIND_PAGE_SHIFT)
		change_rules(table, start, end, 0xff, GMT_UNWIND_EVAL);
}

void unwind_table_set_rule(struct unwind_table *table, uint64_t start, uint64_t end, enum gmt_unwind_rule rule)
{
	change_rules(table, start, end, (uint8_t)~GMT_UNWIND_RULE_MASK, (uint8_t)rule);
}

void unwind_table_mark_runtime(struct unwind_table *table)
{
	for (uint32_t i = 0; i < table->rows; i++) {
		struct gmt_unwind_row *row = &table->words[(size_t)table->pages + i].row;

		if ((row->rule & GMT_UNWIND_RULE_MASK) != GMT_UNWIND_SIGNAL)
			row->rule |= GMT_UNWIND_RUNTIME;
	}
}
