// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/elf/elfsym.h"

#include <lzma.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "base/xalloc.h"
#include "symbol/elf/demangle.h"
#include "symbol/elf/image.h"

#define MINI_MAX (64u << 20)        /* .gnu_debugdata is unpacked up to this size */
#define MINI_MEMORY_MAX (128u << 20) /* what liblzma may take for its dictionary */

_Static_assert(IMAGE_PART_MAX <= UINT32_MAX / 2, "offsets in the file's strings and in copies fit in one number");

/* Copies the strings of a table that are not in the file, with a NUL behind them. */
static bool copy_names(struct elfsym *symbols, const struct image *from, const struct symtab *table)
{
	char *names = xmalloc((size_t)table->strings_size + 1);

	if (!image_read(from, table->strings, names, table->strings_size)) {
		free(names);
		return false;
	}
	names[table->strings_size] = '\0';
	symbols->names = names;
	symbols->names_size = (size_t)table->strings_size + 1;
	return true;
}

static bool add_own(struct elfsym *symbols, struct symtab *all, const struct image *file, uint32_t type)
{
	bool ok = symtab_read(all, file, file, type);

	symbols->strings = all->strings;
	symbols->strings_size = all->count ? all->strings_size : 0;
	return ok;
}

/* Adds the functions of another file, once at most. */
static bool add_foreign(struct elfsym *symbols, struct symtab *all, const struct image *file, const struct image *from)
{
	struct symtab table;
	bool ok = symtab_read(&table, file, from, SHT_SYMTAB) && copy_names(symbols, from, &table);

	for (size_t i = 0; ok && i < table.count; i++) {
		all->functions = xgrow(all->functions, all->count, sizeof(*all->functions));
		all->functions[all->count] = table.functions[i];
		all->functions[all->count++].name += symbols->strings_size;
	}
	symtab_fini(&table);
	return ok;
}

/* .gnu_debugdata: an ELF file of the symbols that .dynsym lacks, packed with xz (GDB manual, "MiniDebugInfo"). */
static void add_mini(struct elfsym *symbols, struct symtab *all, const struct image *file)
{
	const Elf64_Shdr *section = image_section(file, ".gnu_debugdata", 0);
	char *packed = section ? image_load(file, section) : NULL;
	size_t in_at = 0, out_at = 0, room = 64u << 10;
	uint8_t *plain = NULL;
	uint64_t memory = MINI_MEMORY_MAX;
	lzma_ret ret = LZMA_BUF_ERROR;
	struct image image;

	while (packed && ret == LZMA_BUF_ERROR && room <= MINI_MAX) { /* the room was too small: try again with more */
		plain = xrealloc(plain, room);
		in_at = out_at = 0;
		ret = lzma_stream_buffer_decode(&memory, 0, NULL, (const uint8_t *)packed, &in_at, section->sh_size,
						plain, &out_at, room);
		room *= 4;
	}
	free(packed);
	if (ret != LZMA_OK) {
		free(plain);
	} else if (!image_open_bytes(&image, plain, out_at, plain)) {
		add_foreign(symbols, all, file, &image);
		image_close(&image);
	}
}

static int compare_functions(const void *left, const void *right)
{
	const struct symtab_function *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->size != b->size)
		return a->size > b->size ? -1 : 1; /* the larger function is around the smaller function */
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->name_size != b->name_size)
		return a->name_size < b->name_size ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

static void add_range(struct elfsym *symbols, uint64_t start, uint64_t end, uint32_t name)
{
	uint64_t size = end - start;

	if (end <= start)
		return;
	symbols->ranges = xgrow(symbols->ranges, symbols->count, sizeof(*symbols->ranges));
	symbols->ranges[symbols->count++] =
		(struct elfsym_range){ start, size < UINT32_MAX ? (uint32_t)size : UINT32_MAX, name };
}

/* Sweeps over sorted functions; `open` holds the functions that have not ended, the innermost last. */
static void make_ranges(struct elfsym *symbols, const struct symtab *all)
{
	uint32_t *open = xcalloc(all->count + 1, sizeof(*open));
	size_t depth = 0;
	uint64_t done = 0;

	for (size_t i = 0; i <= all->count; i++) {
		const struct symtab_function *next = i < all->count ? &all->functions[i] : NULL;

		if (next && (!next->size ||
			     (i && next[-1].start == next->start && next[-1].size == next->size)))
			continue;
		while (depth) {
			const struct symtab_function *top = &all->functions[open[depth - 1]];
			uint64_t end = top->start + top->size;

			if (next && end > next->start) {
				add_range(symbols, done, next->start, top->name);
				break;
			}
			add_range(symbols, done, end, top->name);
			done = end > done ? end : done;
			depth--;
		}
		if (next) {
			done = next->start;
			open[depth++] = (uint32_t)i;
		}
	}
	free(open);
}

static void make_table(struct elfsym *symbols, struct symtab *all)
{
	if (!all->count)
		return;
	qsort(all->functions, all->count, sizeof(*all->functions), compare_functions);
	make_ranges(symbols, all);
	symbols->ranges = xreallocarray(symbols->ranges, symbols->count + 1, sizeof(*symbols->ranges));
	for (size_t i = 0; i < all->count; i++) {
		const struct symtab_function *function = &all->functions[i];
		size_t n = symbols->point_count;

		if (function->size || (n && symbols->points[n - 1].start == function->start))
			continue;
		symbols->points = xgrow(symbols->points, n, sizeof(*symbols->points));
		symbols->points[symbols->point_count++] = (struct elfsym_range){ function->start, 0, function->name };
	}
}

void elfsym_read(struct elfsym *symbols, const struct image *file, const struct image *debug)
{
	struct symtab all = { 0 };

	*symbols = (struct elfsym){ 0 };
	/* .symtab has all that .dynsym has */
	if (!(add_own(symbols, &all, file, SHT_SYMTAB) && all.count) &&
	    !(debug && add_foreign(symbols, &all, file, debug))) {
		symtab_fini(&all);
		add_own(symbols, &all, file, SHT_DYNSYM);
		add_mini(symbols, &all, file);
	}
	make_table(symbols, &all);
	symtab_fini(&all);
}

void elfsym_fini(struct elfsym *symbols)
{
	free(symbols->ranges);
	free(symbols->points);
	free(symbols->names);
	*symbols = (struct elfsym){ 0 };
}

/* The last range that starts at the address or below, or NULL. */
static const struct elfsym_range *last_below(const struct elfsym_range *ranges, size_t count, uint64_t vaddr)
{
	count = sorted_count(ranges, count, sizeof(*ranges), vaddr);
	return count ? &ranges[count - 1] : NULL;
}

/* Files may have changed since their strings were looked at: no length is believed. */
static bool name_of(const struct elfsym *symbols, const struct image *file, const struct elfsym_range *range,
		    char name[ELFSYM_NAME_BYTES])
{
	bool is_copy = range->name >= symbols->strings_size;
	size_t at = is_copy ? range->name - symbols->strings_size : range->name;
	size_t room = (is_copy ? symbols->names_size : symbols->strings_size) - at;

	if (room > ELFSYM_NAME_BYTES - 1)
		room = ELFSYM_NAME_BYTES - 1;
	name[room] = '\0';
	if (is_copy)
		memcpy(name, symbols->names + at, room);
	else if (!image_read(file, symbols->strings + at, name, room))
		return false;
	return name[0];
}

/* Where the function begins that an address is in: as the code tells, without symbols. */
static bool start_of(const struct image *file, uint64_t vaddr, uint64_t *start)
{
	uint64_t size;

	if (image_fde(file, vaddr, start, &size))
		return true;
	*start = file->entry;
	return vaddr - file->entry < image_entry_size(file);
}

bool elfsym_find(const struct elfsym *symbols, const struct image *file, uint64_t vaddr, char name[ELFSYM_NAME_BYTES])
{
	const struct elfsym_range *range = last_below(symbols->ranges, symbols->count, vaddr);
	uint64_t start;

	if (range && vaddr - range->start < range->size)
		return name_of(symbols, file, range, name);
	if (!symbols->point_count || !start_of(file, vaddr, &start))
		return false;
	range = last_below(symbols->points, symbols->point_count, start);
	return range && range->start == start && name_of(symbols, file, range, name);
}

size_t elfsym_bytes(const struct elfsym *symbols)
{
	return (symbols->count + symbols->point_count) * sizeof(struct elfsym_range) + symbols->names_size;
}
