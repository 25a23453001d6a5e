// SPDX-License-Identifier: BSD-2-Clause
/*
 * greenlet (and by it gevent and eventlet): slp_switch() copies the used stack of the greenlet that stops to the heap,
 * up to the frame in which the greenlet began, and puts the stack of the next greenlet back. A greenlet's own code
 * begins in UserGreenlet::inner_bootstrap() (2.0 on, src/greenlet/TUserGreenlet.cpp), before that in the static
 * function g_initialstub() (0.4 and 1, greenlet.c).
 */
#include "symbol/unwind/switchers.h"

#include <string.h>

#include "base/count.h"
#include "symbol/elf/image.h"
#include "symbol/unwind/unwind_table.h"

/* The better name comes first: later names count if the file has none of the names before. */
static const char *const first_functions[] = { "inner_bootstrap", "g_initialstub" };

bool switchers_has(const char *name)
{
	static const char *const starts[] = { "_greenlet.", "greenlet." };

	for (size_t i = 0; i < COUNT(starts); i++)
		if (!strncmp(name, starts[i], strlen(starts[i])))
			return true;
	return false;
}

static bool has_word(const struct image_symbols *symbols, const Elf64_Sym *symbol, const char *word)
{
	return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_size &&
	       symbol->st_name < symbols->names_size && strstr(symbols->names + symbol->st_name, word);
}

/* Finds the functions with a word in their names, which are mangled, and to which compilers add (".cold",
 * ".constprop.0"). Returns how many; 0 if there are too many, because a walk that passes one of them is wrong. */
static size_t find_functions(const struct image *image, uint32_t symbols_type, const char *word,
			     struct switchers_range ranges[SWITCHERS_MAX])
{
	struct image_symbols symbols;
	bool has_symbols = image_symbols(image, symbols_type, &symbols);
	size_t count = 0;

	for (size_t i = 0; has_symbols && i < symbols.count && count <= SWITCHERS_MAX; i++) {
		const Elf64_Sym *symbol = &symbols.list[i];

		if (!has_word(&symbols, symbol, word))
			continue;
		if (count < SWITCHERS_MAX)
			ranges[count] = (struct switchers_range){ symbol->st_value,
								  symbol->st_value + symbol->st_size };
		count++;
	}
	image_symbols_free(&symbols);
	return count <= SWITCHERS_MAX ? count : 0;
}

size_t switchers_find(const struct image *image, struct switchers_range ranges[SWITCHERS_MAX])
{
	static const uint32_t types[] = { SHT_SYMTAB, SHT_DYNSYM };
	size_t count = 0;

	for (size_t i = 0; i < COUNT(first_functions) && !count; i++)
		for (size_t t = 0; t < COUNT(types) && !count; t++)
			count = find_functions(image, types[t], first_functions[i], ranges);
	return count;
}

void switchers_mark(struct unwind_table *table, const struct switchers_range *ranges, size_t count)
{
	for (size_t i = 0; i < count; i++)
		unwind_table_set_rule(table, ranges[i].start, ranges[i].end, GMT_UNWIND_STOP);
	if (!count)
		unwind_table_set_rule(table, table->base, UINT64_MAX, GMT_UNWIND_SWITCH);
}
