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
#define NAMES_MAX UINT32_MAX
#define NAME_MAX_BYTES (DEMANGLE_INPUT_MAX + 1) /* a function with a longer name has no name */

struct symbol {
	uint64_t start, size;
	uint32_t name;
	uint32_t rank;              /* of several names for the same bytes, the name of the lowest rank is kept */
};

struct list {
	struct symbol *items;
	size_t count;
};

/* Appends a string table, which has a NUL behind it; false if the offsets would not fit any more. */
static bool add_names(struct elfsym *symbols, const char *strings, size_t size)
{
	if (size >= NAMES_MAX - symbols->names_size - 1)
		return false;
	symbols->names = xrealloc(symbols->names, symbols->names_size + size + 1);
	memcpy(symbols->names + symbols->names_size, strings, size + 1);
	symbols->names_size += size + 1;
	return true;
}

/* Public names come before local names, and `malloc` before `__libc_malloc`: fewer leading underscores win, unless
 * they begin a mangled name. */
static uint32_t rank_of(const Elf64_Sym *sym, const char *name)
{
	unsigned char bind = ELF64_ST_BIND(sym->st_info), type = ELF64_ST_TYPE(sym->st_info);
	uint32_t underscores = 0;

	while (name[underscores] == '_' && underscores < 7)
		underscores++;
	if (underscores == 1 && (name[1] == 'Z' || name[1] == 'R'))
		underscores = 0;
	return (bind == STB_LOCAL) << 5 | (type != STT_FUNC) << 4 | underscores;
}

static bool is_function(const Elf64_Sym *sym, const char *name)
{
	unsigned char type = ELF64_ST_TYPE(sym->st_info);

	/* Names may overlap, and each be as long as the table: their lengths are read again and again. */
	if (strnlen(name, NAME_MAX_BYTES) == NAME_MAX_BYTES)
		return false;
	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS || sym->st_shndx == SHN_COMMON || !name[0])
		return false;
	/* labels of assembly code have no type and no size; '$' begins aarch64's mapping symbols */
	if (type == STT_NOTYPE && (sym->st_size || name[0] == '$' || name[0] == '.'))
		return false;
	return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
}

static void add_symbol(struct list *list, const struct image *file, const Elf64_Sym *sym, uint32_t name,
		       const char *text)
{
	const struct image_segment *code = is_function(sym, text) ? image_code_at(file, sym->st_value) : NULL;
	uint64_t room;

	if (!code)
		return;
	room = code->size - (sym->st_value - code->vaddr);
	list->items = xgrow(list->items, list->count, sizeof(*list->items));
	list->items[list->count++] = (struct symbol){
		.start = sym->st_value,
		.size = sym->st_size < room ? sym->st_size : room,
		.name = name,
		.rank = rank_of(sym, text),
	};
}

/* `file` has the segments: the segments of a debug file do not say how large they are in the file. */
static bool add_table(struct elfsym *symbols, struct list *list, const struct image *file,
		      const struct image *from, uint32_t type)
{
	size_t first = symbols->names_size;
	struct image_symbols table;
	bool ok = image_symbols(from, type, &table) && add_names(symbols, table.names, table.names_size);

	for (size_t i = 1; ok && i < table.count; i++) {
		const Elf64_Sym *sym = &table.list[i];

		if (sym->st_name < table.names_size)
			add_symbol(list, file, sym, (uint32_t)(first + sym->st_name), table.names + sym->st_name);
	}
	image_symbols_free(&table);
	return ok;
}

/* .gnu_debugdata: an ELF file of the symbols that .dynsym lacks, packed with xz (GDB manual, "MiniDebugInfo"). */
static void add_mini(struct elfsym *symbols, struct list *list, const struct image *file)
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
		add_table(symbols, list, file, &image, SHT_SYMTAB);
		image_close(&image);
	}
}

static int compare_symbols(const void *left, const void *right, void *arg)
{
	const struct symbol *a = left, *b = right;
	const char *names = arg;
	size_t a_len, b_len;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->size != b->size)
		return a->size > b->size ? -1 : 1; /* the larger symbol is around the smaller symbol */
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	a_len = strlen(names + a->name);
	b_len = strlen(names + b->name);
	if (a_len != b_len)
		return a_len < b_len ? -1 : 1;
	return strcmp(names + a->name, names + b->name);
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

/* Sweeps over sorted symbols; `open` holds the symbols that have not ended, the innermost last. */
static void make_ranges(struct elfsym *symbols, const struct list *list)
{
	uint32_t *open = xcalloc(list->count + 1, sizeof(*open));
	size_t depth = 0;
	uint64_t done = 0;

	for (size_t i = 0; i <= list->count; i++) {
		const struct symbol *next = i < list->count ? &list->items[i] : NULL;

		if (next && (!next->size ||
			     (i && next[-1].start == next->start && next[-1].size == next->size)))
			continue;
		while (depth) {
			const struct symbol *top = &list->items[open[depth - 1]];
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

static void make_table(struct elfsym *symbols, struct list *list)
{
	if (!list->count)
		return;
	qsort_r(list->items, list->count, sizeof(*list->items), compare_symbols, symbols->names);
	make_ranges(symbols, list);
	symbols->ranges = xreallocarray(symbols->ranges, symbols->count + 1, sizeof(*symbols->ranges));
	for (size_t i = 0; i < list->count; i++) {
		const struct symbol *symbol = &list->items[i];
		size_t n = symbols->point_count;

		if (symbol->size || (n && symbols->points[n - 1].start == symbol->start))
			continue;
		symbols->points = xgrow(symbols->points, n, sizeof(*symbols->points));
		symbols->points[symbols->point_count++] = (struct elfsym_range){ symbol->start, 0, symbol->name };
	}
}

void elfsym_read(struct elfsym *symbols, const struct image *file, const struct image *debug)
{
	struct list list = { 0 };

	*symbols = (struct elfsym){ 0 };
	/* .symtab has all that .dynsym has */
	if (!(add_table(symbols, &list, file, file, SHT_SYMTAB) && list.count) &&
	    !(debug && add_table(symbols, &list, file, debug, SHT_SYMTAB))) {
		add_table(symbols, &list, file, file, SHT_DYNSYM);
		add_mini(symbols, &list, file);
	}
	make_table(symbols, &list);
	free(list.items);
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

const char *elfsym_find(const struct elfsym *symbols, const struct image *file, uint64_t vaddr)
{
	const struct elfsym_range *range = last_below(symbols->ranges, symbols->count, vaddr);
	uint64_t start, size;

	if (range && vaddr - range->start < range->size)
		return symbols->names + range->name;
	if (!file || !symbols->point_count || !image_fde(file, vaddr, &start, &size))
		return NULL;
	range = last_below(symbols->points, symbols->point_count, start);
	return range && range->start == start ? symbols->names + range->name : NULL;
}

size_t elfsym_bytes(const struct elfsym *symbols)
{
	return (symbols->count + symbols->point_count) * sizeof(struct elfsym_range) + symbols->names_size;
}
