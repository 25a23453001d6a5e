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

#define FUNCTIONS_MAX 8            /* of one name: the function and its cold part. More are no greenlet. */

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

/* Marks the functions with a word in their names, which are mangled, and to which compilers add (".cold",
 * ".constprop.0"). Returns whether there are any. */
static bool mark_functions(const struct image *image, uint32_t symbols_type, const char *word,
			   struct unwind_table *table)
{
	struct image_symbols symbols;
	bool has_symbols = image_symbols(image, symbols_type, &symbols);
	unsigned int marked = 0;

	for (size_t i = 0; has_symbols && i < symbols.count && marked < FUNCTIONS_MAX; i++) {
		const Elf64_Sym *symbol = &symbols.list[i];

		if (!has_word(&symbols, symbol, word))
			continue;
		unwind_table_set_rule(table, symbol->st_value, symbol->st_value + symbol->st_size, GMT_UNWIND_STOP);
		marked++;
	}
	image_symbols_free(&symbols);
	return marked > 0;
}

void switchers_mark(const struct image *image, struct unwind_table *table)
{
	for (size_t i = 0; i < COUNT(first_functions); i++)
		if (mark_functions(image, SHT_SYMTAB, first_functions[i], table) ||
		    mark_functions(image, SHT_DYNSYM, first_functions[i], table))
			return;
	unwind_table_set_rule(table, table->base, UINT64_MAX, GMT_UNWIND_SWITCH);
}
