// SPDX-License-Identifier: BSD-2-Clause
/* Symbol tables that no linker would write: names that overlap or do not end, and tables that lie in each other or not in
 * the file. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "symbol/elf/elfsym.h"
#include "symbol/elf/image.h"

#define CODE 0x100000
#define CODE_BYTES 0x10000
#define LONGEST (ELFSYM_NAME_BYTES - 1)

enum { NONE, SYMBOLS, STRINGS, SECTIONS };

/* A file of a segment with code, symbols, strings and, behind the strings, one more byte. */
struct layout {
	Elf64_Ehdr header;
	Elf64_Phdr code;
	Elf64_Shdr sections[SECTIONS];
};

static struct layout *make_file(const Elf64_Sym *symbols, size_t count, const char *strings, size_t strings_size,
				size_t *size)
{
	size_t symbols_size = count * sizeof(*symbols);
	struct layout *file = calloc(1, sizeof(*file) + symbols_size + strings_size + 1);

	assert_non_null(file);
	*size = sizeof(*file) + symbols_size + strings_size + 1;
	*file = (struct layout){
		.header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB },
			    .e_phoff = offsetof(struct layout, code), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1,
			    .e_shoff = offsetof(struct layout, sections), .e_shentsize = sizeof(Elf64_Shdr),
			    .e_shnum = SECTIONS },
		.code = { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = CODE, .p_memsz = CODE_BYTES },
		.sections = { [SYMBOLS] = { .sh_type = SHT_SYMTAB, .sh_offset = sizeof(*file), .sh_size = symbols_size,
					    .sh_link = STRINGS },
			      [STRINGS] = { .sh_type = SHT_STRTAB, .sh_offset = sizeof(*file) + symbols_size,
					    .sh_size = strings_size } },
	};
	memcpy(file + 1, symbols, symbols_size);
	memcpy((char *)(file + 1) + symbols_size, strings, strings_size);
	((char *)file)[*size - 1] = 'X';
	return file;
}

static Elf64_Sym function_at(uint64_t offset, uint32_t name)
{
	return (Elf64_Sym){ .st_name = name, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1,
			    .st_value = CODE + offset, .st_size = 1 };
}

/* Opens the file and reads its symbols. */
static void read_file(struct layout *file, size_t size, struct image *image, struct elfsym *symbols)
{
	assert_int_equal(image_open_bytes(image, file, size, file), 0);
	elfsym_read(symbols, image, NULL);
}

static void close_file(struct image *image, struct elfsym *symbols)
{
	elfsym_fini(symbols);
	image_close(image);
}

/* Each name is the end of one long string, and a second string follows. The symbols are in no order. */
static void names_may_overlap(void **state)
{
	enum { COUNT = 20000 };
	Elf64_Sym *list = calloc(COUNT + 2, sizeof(*list));
	char *strings = calloc(1, COUNT + 8), name[ELFSYM_NAME_BYTES];
	struct elfsym symbols;
	struct layout *file;
	struct image image;
	size_t size;

	(void)state;
	memset(strings + 1, 'a', COUNT);
	memcpy(strings + 1 + COUNT + 1, "last", 5);
	for (uint32_t i = 0; i < COUNT; i++)
		list[1 + i * 7919 % COUNT] = function_at(i, 1 + i);
	list[1 + COUNT] = function_at(COUNT, 1 + COUNT + 1);
	file = make_file(list, COUNT + 2, strings, COUNT + 7, &size);
	read_file(file, size, &image, &symbols);
	for (uint32_t i = 0; i < COUNT; i++) {
		bool is_short = COUNT - i <= LONGEST;

		assert_int_equal(elfsym_find(&symbols, &image, CODE + i, name), is_short);
		assert_true(!is_short || strlen(name) == COUNT - i);
	}
	assert_true(elfsym_find(&symbols, &image, CODE + COUNT, name));
	assert_string_equal(name, "last");
	close_file(&image, &symbols);
	free(list);
	free(strings);
}

/* A name ends with its table, and a name behind the table is none. */
static void strings_may_lack_their_end(void **state)
{
	static const char strings[] = { '\0', 'a', 'b', 'c' };
	const Elf64_Sym list[] = { { 0 }, function_at(0, 1), function_at(1, 3), function_at(2, 4),
				   function_at(3, UINT32_MAX) };
	char name[ELFSYM_NAME_BYTES];
	struct elfsym symbols;
	struct layout *file;
	struct image image;
	size_t size;

	(void)state;
	file = make_file(list, 5, strings, sizeof(strings), &size);
	read_file(file, size, &image, &symbols);
	assert_true(elfsym_find(&symbols, &image, CODE, name));
	assert_string_equal(name, "abc");
	assert_true(elfsym_find(&symbols, &image, CODE + 1, name));
	assert_string_equal(name, "c");
	assert_false(elfsym_find(&symbols, &image, CODE + 2, name));
	assert_false(elfsym_find(&symbols, &image, CODE + 3, name));
	assert_int_equal(symbols.count, 2);
	close_file(&image, &symbols);
}

/* Four billion symbols, sizes and places that wrap around, links to other sections: such tables are not read. */
static void tables_must_lie_in_the_file(void **state)
{
	static const struct {
		int section;
		uint64_t offset, size;
		uint32_t link;
	} wrong[] = {
		{ SYMBOLS, sizeof(struct layout), sizeof(Elf64_Sym) << 32, STRINGS },
		{ SYMBOLS, sizeof(struct layout), UINT64_MAX, STRINGS },
		{ SYMBOLS, UINT64_MAX - 8, sizeof(Elf64_Sym) * 2, STRINGS },
		{ SYMBOLS, sizeof(struct layout), sizeof(Elf64_Sym) * 2, NONE },
		{ SYMBOLS, sizeof(struct layout), sizeof(Elf64_Sym) * 2, SECTIONS },
		{ SYMBOLS, sizeof(struct layout), sizeof(Elf64_Sym) * 2, UINT32_MAX },
		{ SYMBOLS, sizeof(struct layout), 0, STRINGS },
		{ STRINGS, sizeof(struct layout), 1ull << 32, NONE },
		{ STRINGS, UINT64_MAX, 2, NONE },
		{ STRINGS, sizeof(struct layout), 0, NONE },
	};
	const Elf64_Sym list[] = { { 0 }, function_at(0, 1) };

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		char name[ELFSYM_NAME_BYTES];
		struct elfsym symbols;
		struct image image;
		size_t size;
		struct layout *file = make_file(list, 2, "\0a", 3, &size);
		Elf64_Shdr *section = &file->sections[wrong[i].section];

		section->sh_offset = wrong[i].offset;
		section->sh_size = wrong[i].size;
		section->sh_link = wrong[i].link;
		read_file(file, size, &image, &symbols);
		assert_false(elfsym_find(&symbols, &image, CODE, name));
		assert_int_equal(elfsym_bytes(&symbols), 0);
		close_file(&image, &symbols);
	}
}

/* Symbols whose strings are the symbols, by a link to their own section or by a section in the same place. */
static void tables_may_lie_in_each_other(void **state)
{
	/* the second symbol's fields are the name "bcd" */
	const Elf64_Sym list[] = { { 0 }, function_at(0, 2 * sizeof(Elf64_Sym)), { .st_name = 0x00646362 } };

	(void)state;
	for (int by_link = 0; by_link < 2; by_link++) {
		char name[ELFSYM_NAME_BYTES];
		struct elfsym symbols;
		struct image image;
		size_t size;
		struct layout *file = make_file(list, 3, "\0a", 3, &size);

		if (by_link) {
			file->sections[SYMBOLS].sh_link = SYMBOLS;
		} else {
			file->sections[STRINGS].sh_offset = file->sections[SYMBOLS].sh_offset;
			file->sections[STRINGS].sh_size = file->sections[SYMBOLS].sh_size;
		}
		read_file(file, size, &image, &symbols);
		assert_true(elfsym_find(&symbols, &image, CODE, name));
		assert_string_equal(name, "bcd");
		close_file(&image, &symbols);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_may_overlap),
		cmocka_unit_test(strings_may_lack_their_end),
		cmocka_unit_test(tables_must_lie_in_the_file),
		cmocka_unit_test(tables_may_lie_in_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
