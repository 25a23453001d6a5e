// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/elf/symtab.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "symbol/elf/image.h"

#define PIECE_SYMBOLS 4096
#define WINDOW_BYTES (256u << 10)

_Static_assert(SYMTAB_NAME_BYTES <= UINT16_MAX && SYMTAB_NAME_BYTES < WINDOW_BYTES, "the size of a name fits");

/* The part of the strings that is in memory. */
struct window {
	const struct image *image;
	uint64_t offset;        /* of the strings in the file */
	uint32_t end;           /* bytes of all strings */
	uint32_t start, size;   /* the part */
	uint32_t seen;          /* from the last name up to here there is no NUL */
	bool ends_here;         /* the NUL is at `seen` */
	char bytes[WINDOW_BYTES];
};

static uint32_t smaller_of(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* The name at an offset in the strings, and at *room how many bytes the name may have at most. NULL: the file cannot be
 * read. Valid until the next call. */
static const char *name_at(struct window *window, uint32_t name, uint32_t *room)
{
	*room = smaller_of(window->end - name, SYMTAB_NAME_BYTES);
	if (name < window->start || name + *room > window->start + window->size) {
		window->start = name;
		window->size = smaller_of(window->end - name, WINDOW_BYTES);
		if (!image_read(window->image, window->offset + name, window->bytes, window->size)) {
			window->size = 0;
			return NULL;
		}
	}
	return window->bytes + (name - window->start);
}

/* The length of the name, or `room`. Names may overlap, and each be as long as the table: as they come in the order of
 * the strings, each byte is looked at once. */
static uint32_t length_of(struct window *window, uint32_t name, const char *text, uint32_t room)
{
	uint32_t from = window->seen > name ? window->seen : name;
	const char *nul;

	if (window->ends_here && window->seen >= name)
		return window->seen - name;
	nul = memchr(text + (from - name), '\0', room - (from - name));
	window->ends_here = nul;
	window->seen = name + (nul ? (uint32_t)(nul - text) : room);
	return window->seen - name;
}

/* Public names come before local names, and `malloc` before `__libc_malloc`: fewer leading underscores win, unless
 * they begin a mangled name. */
static uint8_t rank_of(uint8_t info, const char *name, size_t size)
{
	size_t underscores = 0;

	while (underscores < size && underscores < 7 && name[underscores] == '_')
		underscores++;
	if (underscores == 1 && size > 1 && (name[1] == 'Z' || name[1] == 'R'))
		underscores = 0;
	return (uint8_t)((ELF64_ST_BIND(info) == STB_LOCAL) << 5 | (ELF64_ST_TYPE(info) != STT_FUNC) << 4 |
			 underscores);
}

static bool may_be_function(const Elf64_Sym *sym)
{
	unsigned char type = ELF64_ST_TYPE(sym->st_info);

	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS || sym->st_shndx == SHN_COMMON)
		return false;
	/* labels of assembly code have no type and no size */
	return type == STT_FUNC || type == STT_GNU_IFUNC || (type == STT_NOTYPE && !sym->st_size);
}

/* '$' begins aarch64's mapping symbols. */
static bool names_function(uint8_t info, const char *name, size_t size)
{
	return size && (ELF64_ST_TYPE(info) != STT_NOTYPE || (name[0] != '$' && name[0] != '.'));
}

static void add_function(struct symtab *table, const struct image *file, const Elf64_Sym *sym)
{
	const struct image_segment *code = may_be_function(sym) ? image_code_at(file, sym->st_value) : NULL;
	uint64_t room;

	if (!code || sym->st_name >= table->strings_size)
		return;
	room = code->size - (sym->st_value - code->vaddr);
	table->functions = xgrow(table->functions, table->count, sizeof(*table->functions));
	table->functions[table->count++] = (struct symtab_function){
		.start = sym->st_value,
		.size = sym->st_size < room ? sym->st_size : room,
		.name = sym->st_name,
		.info = sym->st_info,
	};
}

static bool add_functions(struct symtab *table, const struct image *file, const struct image *from,
			  const Elf64_Shdr *symbols)
{
	uint64_t count = symbols->sh_size / sizeof(Elf64_Sym), size;
	Elf64_Sym *piece = xcalloc(PIECE_SYMBOLS, sizeof(*piece));
	bool ok = true;

	for (uint64_t i = 1; ok && i < count; i += size) { /* the first symbol means "no symbol" */
		size = count - i < PIECE_SYMBOLS ? count - i : PIECE_SYMBOLS;
		ok = image_read(from, symbols->sh_offset + i * sizeof(*piece), piece, size * sizeof(*piece));
		for (uint64_t s = 0; ok && s < size; s++)
			add_function(table, file, &piece[s]);
	}
	free(piece);
	return ok;
}

static int compare_offsets(const void *left, const void *right)
{
	const struct symtab_function *a = left, *b = right;

	return a->name < b->name ? -1 : a->name > b->name;
}

/* Looks at the names in the order in which the strings have them, and drops what is no function by its name. */
static bool take_names(struct symtab *table, const struct image *from)
{
	struct window *window = xcalloc(1, sizeof(*window));
	size_t kept = 0;
	bool ok = true;

	window->image = from;
	window->offset = table->strings;
	window->end = table->strings_size;
	if (table->count)
		qsort(table->functions, table->count, sizeof(*table->functions), compare_offsets);
	for (size_t i = 0; ok && i < table->count; i++) {
		struct symtab_function *function = &table->functions[i];
		uint32_t room, size;
		const char *name = name_at(window, function->name, &room);

		ok = name;
		size = ok ? length_of(window, function->name, name, room) : 0;
		if (!ok || size == SYMTAB_NAME_BYTES || !names_function(function->info, name, size))
			continue;
		function->name_size = (uint16_t)size;
		function->rank = rank_of(function->info, name, size);
		table->functions[kept++] = *function;
	}
	table->count = kept;
	free(window);
	return ok;
}

bool symtab_read(struct symtab *table, const struct image *file, const struct image *from, uint32_t type)
{
	const Elf64_Shdr *symbols, *strings;

	*table = (struct symtab){ 0 };
	if (!image_symbol_sections(from, type, &symbols, &strings))
		return false;
	table->strings = strings->sh_offset;
	table->strings_size = (uint32_t)strings->sh_size;
	if (add_functions(table, file, from, symbols) && take_names(table, from))
		return true;
	symtab_fini(table);
	return false;
}

void symtab_fini(struct symtab *table)
{
	free(table->functions);
	*table = (struct symtab){ 0 };
}
