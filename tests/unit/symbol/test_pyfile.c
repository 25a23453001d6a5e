// SPDX-License-Identifier: BSD-2-Clause
/* Files of Python at and beyond the limits of their reader: the size and the parts of the eval function, and how far a
 * version is looked for. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "memory_fd.h"
#include "symbol/python/pyfile.h"

#define EVAL "_PyEval_EvalFrameDefault"
#define CODE 0x100000
#define EVAL_MOST (1u << 20)     /* bytes of the eval function, or of one of its parts */
#define SCANNED (256u << 20)     /* bytes of a segment in which a version is looked for */
#define PIECE (64u << 10)        /* ... in pieces */
#define SYMBOLS_MOST 16

/* A file of a segment with code, symbols, and the names of the symbols: the eval function's, and another part's. */
static const char names[] = "\0" EVAL "\0" EVAL ".cold";
enum { NAME_EVAL = 1, NAME_PART = 1 + sizeof(EVAL) };

struct python {
	Elf64_Ehdr header;
	Elf64_Phdr code;
	Elf64_Shdr sections[3];
	Elf64_Sym symbols[SYMBOLS_MOST];
	char names[sizeof(names)];
};

static struct python make_python(uint64_t code_offset, uint64_t code_bytes)
{
	struct python made = {
		.header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB },
			    .e_phoff = offsetof(struct python, code), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1,
			    .e_shoff = offsetof(struct python, sections), .e_shentsize = sizeof(Elf64_Shdr),
			    .e_shnum = 3 },
		.code = { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = CODE, .p_memsz = code_bytes,
			  .p_offset = code_offset, .p_filesz = code_bytes },
		.sections = { { 0 },
			      { .sh_type = SHT_SYMTAB, .sh_offset = offsetof(struct python, symbols),
				.sh_size = sizeof(made.symbols), .sh_link = 2 },
			      { .sh_type = SHT_STRTAB, .sh_offset = offsetof(struct python, names),
				.sh_size = sizeof(names) } },
	};

	memcpy(made.names, names, sizeof(names));
	return made;
}

static void put_symbol(struct python *made, size_t at, uint32_t name, uint64_t vaddr, uint64_t size)
{
	made->symbols[at] = (Elf64_Sym){ .st_name = name, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1,
					 .st_value = vaddr, .st_size = size };
}

static size_t ranges_of(const struct python *made, struct gmt_py_range ranges[GMT_PY_EVAL_RANGES])
{
	struct image image;
	size_t count;

	assert_int_equal(image_open_bytes(&image, made, sizeof(*made), NULL), 0);
	count = pyfile_eval_ranges(&image, ranges);
	image_close(&image);
	return count;
}

/* With a part that is larger, there is no function: not all of its frames would be found. */
static void sizes(void **state)
{
	struct gmt_py_range ranges[GMT_PY_EVAL_RANGES];

	(void)state;
	for (uint32_t more = 0; more < 2; more++) {
		struct python made = make_python(0, sizeof(made));

		put_symbol(&made, 1, NAME_EVAL, CODE, EVAL_MOST + more);
		assert_int_equal(ranges_of(&made, ranges), !more);
		put_symbol(&made, 1, NAME_EVAL, CODE, 64);
		put_symbol(&made, 2, NAME_PART, CODE + 64, EVAL_MOST + more);
		assert_int_equal(ranges_of(&made, ranges), more ? 0 : 2);
	}
}

static void parts(void **state)
{
	struct { struct gmt_py_range of[GMT_PY_EVAL_RANGES], behind; } ranges;

	(void)state;
	for (size_t count = 1; count + 1 < SYMBOLS_MOST; count++) {
		struct python made = make_python(0, sizeof(made));

		put_symbol(&made, 1, NAME_EVAL, CODE, 16);
		for (size_t i = 1; i < count; i++)
			put_symbol(&made, 1 + i, NAME_PART, CODE + 16 * i, 16);
		memset(&ranges, 0xaa, sizeof(ranges));
		assert_int_equal(ranges_of(&made, ranges.of), count <= GMT_PY_EVAL_RANGES ? count : 0);
		assert_int_equal(ranges.behind.start, 0xaaaaaaaaaaaaaaaa);
	}
}

/* The version, of a file of zeros with the version's text so far behind the start of the segment. */
static unsigned int minor_of(uint64_t at)
{
	struct python made = make_python(sizeof(made), at + 2 * PIECE);
	int fd = memory_fd(&made, sizeof(made));
	unsigned int minor;
	struct image image;

	assert_int_equal(ftruncate(fd, (off_t)(made.code.p_offset + made.code.p_filesz)), 0);
	assert_int_equal(pwrite(fd, "python3.9", 10, (off_t)(made.code.p_offset + at)), 10);
	assert_int_equal(image_open(&image, fd), 0);
	minor = pyfile_minor(&image);
	image_close(&image);
	return minor;
}

static void versions(void **state)
{
	(void)state;
	for (uint64_t at = PIECE - 16; at <= PIECE; at++) /* one may lie across the ends of pieces */
		assert_int_equal(minor_of(at), 9);
	assert_int_equal(minor_of(SCANNED - 16), 9);
	assert_int_equal(minor_of(SCANNED + PIECE), 0);
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = { TEST(sizes), TEST(parts), TEST(versions) };

	return cmocka_run_group_tests_name("pyfile", tests, NULL, NULL);
}
