// SPDX-License-Identifier: BSD-2-Clause
/* Line tables of each format, str objects of each kind, and code objects out of bytes. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symbol/python/pycode.h"
#include "symbol/python/pylines.h"
#include "symbol/python/pytext.h"

struct gmt_py_walk;
static int read_for_check(struct gmt_py_walk *walk, void *dst, uint64_t addr, size_t n);
#define PY_READ(dst, size, addr) read_for_check(walk, dst, addr, size)
#include "../../../bpf/python.bpf.h"

#define BASE 0x10000000ULL

/* A process's memory: `size` bytes at BASE. */
struct memory {
	unsigned char bytes[PYCODE_LINES_MAX + 8192];
	size_t size;
	unsigned int reads;
};

/* A walk as in BPF, which makes a check word. */
struct check_walk {
	struct gmt_py_walk walk;
	struct memory *memory;
};

static int read_memory(void *arg, uint64_t addr, void *dst, size_t n)
{
	struct memory *memory = arg;

	memory->reads++;
	if (addr < BASE || addr - BASE > memory->size || n > memory->size - (addr - BASE))
		return -14;
	memcpy(dst, memory->bytes + (addr - BASE), n);
	return 0;
}

static int read_for_check(struct gmt_py_walk *walk, void *dst, uint64_t addr, size_t n)
{
	return read_memory(((struct check_walk *)(void *)walk)->memory, addr, dst, n);
}

static void put64(struct memory *memory, size_t at, uint64_t value)
{
	memcpy(memory->bytes + at, &value, sizeof(value));
}

static void put32(struct memory *memory, size_t at, uint32_t value)
{
	memcpy(memory->bytes + at, &value, sizeof(value));
}

#define LINE(format, first, lasti, ...)                                                              \
	pylines_find(format, (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }), \
		     first, lasti)

/* The example of Objects/lnotab_notes.txt (3.9): lines at 0 1, 6 2, 50 7, 350 207, 361 208. */
#define NOTES 6, 1, 44, 5, 255, 0, 45, 127, 0, 73, 11, 1

static void lnotab(void **state)
{
	(void)state;
	static const int cases[][2] = { { 0, 1 }, { 5, 1 }, { 6, 2 }, { 49, 2 }, { 50, 7 }, { 349, 7 },
					{ 350, 207 }, { 360, 207 }, { 361, 208 }, { 9999, 208 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(LINE(PYLAYOUT_LNOTAB, 1, cases[i][0], NOTES), cases[i][1]);
	assert_int_equal(LINE(PYLAYOUT_LNOTAB, 10, 2, 2, (uint8_t)-3), 7);
	assert_int_equal(pylines_find(PYLAYOUT_LNOTAB, NULL, 0, 12, 0), 12);
	assert_int_equal(LINE(PYLAYOUT_LNOTAB, 1, 5, 4), 1); /* half a pair */
}

/* Objects/lnotab_notes.txt (3.10): lines come with the bytes they are of; -128: none. */
static void linetable(void **state)
{
	(void)state;
#define TABLE 6, 0, 44, 1, 4, (uint8_t)-128, 254, 5, 46, 0, 10, (uint8_t)-2

	assert_int_equal(LINE(PYLAYOUT_LINETABLE, 1, 0, TABLE), 1);
	assert_int_equal(LINE(PYLAYOUT_LINETABLE, 1, 6, TABLE), 2);
	assert_int_equal(LINE(PYLAYOUT_LINETABLE, 1, 50, TABLE), 0);
	assert_int_equal(LINE(PYLAYOUT_LINETABLE, 1, 54, TABLE), 7);
	assert_int_equal(LINE(PYLAYOUT_LINETABLE, 1, 350, TABLE), 7);
	assert_int_equal(LINE(PYLAYOUT_LINETABLE, 1, 354, TABLE), 5);
	assert_int_equal(LINE(PYLAYOUT_LINETABLE, 1, 364, TABLE), 0); /* behind the end */
#undef TABLE
}

/* Objects/locations.md (3.11): codes 0-9 short, 10-12 one line, 13 without columns, 14 long, 15 none. */
static void locations(void **state)
{
	(void)state;
#define ENTRY(code, units) (0x80 | (code) << 3 | ((units) - 1))
#define TABLE                                                                                        \
	ENTRY(0, 2), 0x12,                  /* bytes 0-3: the first line */                          \
	ENTRY(11, 1), 3, 4,                 /* 4-5: + 1 */                                           \
	ENTRY(15, 8),                       /* 6-21: none */                                         \
	ENTRY(13, 1), 6,                    /* 22-23: + 3 */                                         \
	ENTRY(14, 2), 64 | 32, 1, 0, 1, 1,  /* 24-27: + 48, and end line, columns */                 \
	ENTRY(13, 1), 5,                    /* 28-29: - 2 */                                         \
	ENTRY(12, 1), 1, 1                  /* 30-31: + 2 */

	assert_int_equal(LINE(PYLAYOUT_LOCATIONS, 10, 0, TABLE), 10);
	assert_int_equal(LINE(PYLAYOUT_LOCATIONS, 10, 2, TABLE), 10);
	assert_int_equal(LINE(PYLAYOUT_LOCATIONS, 10, 4, TABLE), 11);
	assert_int_equal(LINE(PYLAYOUT_LOCATIONS, 10, 6, TABLE), 0);
	assert_int_equal(LINE(PYLAYOUT_LOCATIONS, 10, 20, TABLE), 0);
	assert_int_equal(LINE(PYLAYOUT_LOCATIONS, 10, 22, TABLE), 14);
	assert_int_equal(LINE(PYLAYOUT_LOCATIONS, 10, 24, TABLE), 62);
	assert_int_equal(LINE(PYLAYOUT_LOCATIONS, 10, 26, TABLE), 62);
	assert_int_equal(LINE(PYLAYOUT_LOCATIONS, 10, 28, TABLE), 60);
	assert_int_equal(LINE(PYLAYOUT_LOCATIONS, 10, 30, TABLE), 62);
	assert_int_equal(LINE(PYLAYOUT_LOCATIONS, 10, 32, TABLE), 0);
	assert_int_equal(LINE(PYLAYOUT_LOCATIONS, 10, -1, TABLE), 10);
	/* A number that never ends, and one that is cut off. */
	assert_int_equal(LINE(PYLAYOUT_LOCATIONS, 1, 0, ENTRY(14, 1), 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f), 0);
	assert_int_equal(LINE(PYLAYOUT_LOCATIONS, 1, 0, ENTRY(13, 1)), 1);
#undef TABLE
}

static void utf8(void **state)
{
	(void)state;
	static const uint8_t latin[] = { 'a', 0xe9, 0x1b, 0x9f };
	static const uint16_t two[] = { 0x3b1, 0x4e2d, 0xd800, 'x' };
	static const uint32_t four[] = { 0x10331, 0x110000, 0xffffffff, 0xdc80 };
	char out[32];

	assert_int_equal(pytext_utf8(latin, 4, 1, out), 5);
	assert_string_equal(out, "a\xc3\xa9??");
	pytext_utf8(two, 4, 2, out);
	assert_string_equal(out, "\xce\xb1\xe4\xb8\xad\xef\xbf\xbdx");
	pytext_utf8(four, 4, 4, out);
	assert_string_equal(out, "\xf0\x90\x8c\xb1\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	pytext_utf8(four, 0, 4, out);
	assert_string_equal(out, "");
}

/* A str at an offset, with the bits of its state: kind << 2 | compact << 5 | ascii << 6. */
static void put_str(struct memory *memory, const struct pylayout *layout, size_t at, uint32_t bits,
		    uint64_t length, const void *chars, size_t bytes)
{
	put64(memory, at + PYLAYOUT_UNICODE_LENGTH, length);
	put32(memory, at + PYLAYOUT_UNICODE_STATE, bits);
	memcpy(memory->bytes + at + (bits & 0x40 ? layout->unicode_ascii : layout->unicode_compact), chars, bytes);
}

static int read_str(struct memory *memory, const struct pylayout *layout, size_t at, char **text)
{
	return pytext_read(layout, BASE + at, 8, read_memory, memory, text);
}

static void strings(void **state)
{
	(void)state;
	static const uint16_t two[] = { 0x4e2d, 0x6587 };
	struct memory *memory = calloc(1, sizeof(*memory));
	char *text;

	memory->size = sizeof(memory->bytes);
	for (unsigned int minor = PYLAYOUT_MINOR_MIN; minor <= pylayout_newest(); minor++) {
		const struct pylayout *layout = pylayout_of(minor);

		put_str(memory, layout, 0, 0x64 | 3, 5, "inner", 5);
		assert_int_equal(read_str(memory, layout, 0, &text), 0);
		assert_string_equal(text, "inner");
		free(text);
		put_str(memory, layout, 0, 0x28, 2, two, sizeof(two));
		assert_int_equal(read_str(memory, layout, 0, &text), 0);
		assert_string_equal(text, "\xe4\xb8\xad\xe6\x96\x87");
		free(text);
		put_str(memory, layout, 0, 0x64, 100, "abcdefghijkl", 12);
		assert_int_equal(read_str(memory, layout, 0, &text), 0);
		assert_string_equal(text, "abcdefgh...");
		free(text);
		put_str(memory, layout, 0, 0x04, 5, "inner", 5); /* not compact */
		assert_int_equal(read_str(memory, layout, 0, &text), -22);
		put_str(memory, layout, 0, 0x6c, 5, "inner", 5); /* kind 3 */
		assert_int_equal(read_str(memory, layout, 0, &text), -22);
		put_str(memory, layout, 0, 0x64, 1ULL << 40, "inner", 5);
		assert_int_equal(read_str(memory, layout, 0, &text), -22);
		assert_int_equal(read_str(memory, layout, sizeof(memory->bytes) - 20, &text), -14);
	}
	free(memory);
}

enum { CODE = 0, NAME = 512, QUALNAME = 1024, FILENAME = 1536, LINES = 2048, CODE_TYPE = 0x77770 };
#define ENDLESS (64 << 10)       /* where there is room for a long text */
#define ALIAS (1ULL << 32)

static void put_code(struct memory *memory, const struct pylayout *layout, int first_line)
{
	static const uint8_t table[] = { 0x80 | 13 << 3 | 0, 2, 0x80 | 13 << 3 | 0, 4 };

	memset(memory, 0, sizeof(*memory));
	memory->size = sizeof(memory->bytes);
	put64(memory, CODE, 1);                         /* its count of references */
	put64(memory, CODE + PYLAYOUT_OB_TYPE, CODE_TYPE);
	put64(memory, CODE + layout->code_name, BASE + NAME);
	put64(memory, CODE + layout->code_qualname, BASE + QUALNAME);
	put64(memory, CODE + layout->code_filename, BASE + FILENAME);
	put64(memory, CODE + layout->code_lines, BASE + LINES);
	put32(memory, CODE + layout->code_firstline, (uint32_t)first_line);
	put32(memory, CODE + layout->code_traceable, 1);
	put_str(memory, layout, NAME, 0x64, 1, "f", 1);
	put_str(memory, layout, QUALNAME, 0x64, 3, "A.f", 3);
	put_str(memory, layout, FILENAME, 0x64, 4, "t.py", 4);
	put64(memory, LINES + PYLAYOUT_VAR_SIZE, sizeof(table));
	memcpy(memory->bytes + LINES + PYLAYOUT_BYTES_DATA, table, sizeof(table));
}

static uint32_t check_in(struct memory *memory, const struct pylayout *layout)
{
	struct check_walk walk = { .memory = memory };
	struct gmt_py_config config = { 0 };

	pylayout_config(layout, &config);
	return gmt_py_check_code(&config, &walk.walk, BASE + CODE);
}

/* An address is no name for a code object: another one may come to lie there. */
static void reuse(void **state)
{
	(void)state;
	const struct pylayout *layout = pylayout_of(12);
	struct memory *memory = calloc(1, sizeof(*memory));
	struct pycode *codes = pycode_new(layout, CODE_TYPE);
	struct gmt_py_frame old = { .code = BASE + CODE, .lasti = 2 }, new = old;
	struct pycode_where where;
	unsigned int reads;

	put_code(memory, layout, 10);
	old.check = check_in(memory, layout);
	assert_int_equal(pycode_resolve(codes, &old, read_memory, memory, &where), 0);
	assert_string_equal(where.function, "A.f");
	assert_string_equal(where.file, "t.py");
	assert_int_equal(where.line, 13);
	assert_int_equal(where.first_line, 10);
	assert_false(where.is_hidden);
	reads = memory->reads;
	old.lasti = 0;
	assert_int_equal(pycode_resolve(codes, &old, read_memory, memory, &where), 0);
	assert_int_equal(where.line, 11);
	assert_true(where.is_hidden);
	assert_int_equal(memory->reads, reads); /* kept */

	put_code(memory, layout, 20);
	put_str(memory, layout, QUALNAME, 0x64, 3, "B.g", 3);
	new.check = check_in(memory, layout);
	assert_int_not_equal(new.check, old.check);
	assert_int_equal(pycode_resolve(codes, &new, read_memory, memory, &where), 0);
	assert_string_equal(where.function, "B.g");
	assert_int_equal(where.line, 23);
	assert_int_equal(pycode_resolve(codes, &old, read_memory, memory, &where), 0);
	assert_string_equal(where.function, "A.f"); /* the old stack keeps its names */
	new.check = 0; /* BPF could not read the object: we can */
	assert_int_equal(pycode_resolve(codes, &new, read_memory, memory, &where), 0);
	assert_string_equal(where.function, "B.g");
	new.check = 12345;
	assert_int_equal(pycode_resolve(codes, &new, read_memory, memory, &where), -116);
	assert_null(where.function);
	pycode_free(codes);
	free(memory);
}

/* Everything of the new code object lies where the old one had it, and is the same but for the name's characters. From
 * 3.12 on the version differs. */
static void only_the_name(void **state)
{
	(void)state;
	struct memory *memory = calloc(1, sizeof(*memory));

	for (unsigned int minor = PYLAYOUT_MINOR_MIN; minor <= pylayout_newest(); minor++) {
		const struct pylayout *layout = pylayout_of(minor);
		size_t shown = layout->code_qualname ? QUALNAME : NAME;
		struct pycode *codes = pycode_new(layout, CODE_TYPE);
		struct gmt_py_frame frame = { .code = BASE + CODE, .lasti = 2 };
		struct pycode_where where;

		for (uint32_t i = 0; i < 20; i++) {
			char name[48];
			int len = snprintf(name, sizeof(name), "function_%u", 10 + i);

			put_code(memory, layout, 10);
			put_str(memory, layout, shown, 0x64, (uint64_t)len, name, (size_t)len);
			put64(memory, shown + 24, i & 1 ? ~0ULL : 0x1234567 * (i + 1)); /* the hash */
			if (minor >= 12)
				put32(memory, CODE + layout->code_check + 28, 1000 + i);
			frame.check = check_in(memory, layout);
			if (i & 1) /* CPython computes the hash meanwhile */
				put64(memory, shown + 24, 0x1234567 * (i + 1));
			assert_int_equal(pycode_resolve(codes, &frame, read_memory, memory, &where), 0);
			assert_string_equal(where.function, name);
		}
		pycode_free(codes);
	}
	free(memory);
}

static void no_code(void **state)
{
	(void)state;
	const struct pylayout *layout = pylayout_of(11);
	struct memory *memory = calloc(1, sizeof(*memory));
	struct pycode *codes = pycode_new(layout, CODE_TYPE);
	struct gmt_py_frame frame = { .code = BASE + CODE, .lasti = 2 };
	struct pycode_where where;

	put_code(memory, layout, 10);
	put64(memory, CODE + PYLAYOUT_OB_TYPE, CODE_TYPE + 8);
	assert_int_equal(pycode_resolve(codes, &frame, read_memory, memory, &where), -22);
	put64(memory, CODE + PYLAYOUT_OB_TYPE, CODE_TYPE);
	put64(memory, CODE + layout->code_filename, 8);
	assert_int_equal(pycode_resolve(codes, &frame, read_memory, memory, &where), -14);
	put_code(memory, layout, 10);
	put64(memory, CODE, 0x7f0123456780); /* freed: the address of the next free object */
	assert_int_equal(pycode_resolve(codes, &frame, read_memory, memory, &where), -116);
	frame.code = 0;
	assert_int_equal(pycode_resolve(codes, &frame, read_memory, memory, &where), -14);
	/* Without a line table the names are there all the same; without a qualified name the name. */
	put_code(memory, layout, 10);
	put64(memory, CODE + layout->code_lines, 8);
	put64(memory, CODE + layout->code_qualname, 8);
	frame.code = BASE + CODE;
	assert_int_equal(pycode_resolve(codes, &frame, read_memory, memory, &where), 0);
	assert_string_equal(where.function, "f");
	assert_int_equal(where.line, 0);
	frame.lasti = GMT_PY_LASTI_UNKNOWN;
	assert_int_equal(pycode_resolve(codes, &frame, read_memory, memory, &where), 0);
	assert_int_equal(where.line, 0);
	assert_false(where.is_hidden);
	pycode_free(codes);
	free(memory);
}

/* A text that is cut says so. A code object with a longer line table has its names, and no line. */
static void texts_and_lines_are_bounded(void **state)
{
	(void)state;
	const struct pylayout *layout = pylayout_of(12);
	struct memory *memory = calloc(1, sizeof(*memory));

	for (uint64_t over = 0; over < 2; over++) {
		struct pycode *codes = pycode_new(layout, CODE_TYPE);
		struct gmt_py_frame frame = { .code = BASE + CODE, .lasti = 2 };
		struct pycode_where where;

		put_code(memory, layout, 10);
		put64(memory, LINES + PYLAYOUT_VAR_SIZE, PYCODE_LINES_MAX + over);
		put64(memory, CODE + layout->code_qualname, BASE + ENDLESS);
		put_str(memory, layout, ENDLESS, 0x64, PYCODE_NAME_MAX + over, "", 0);
		assert_int_equal(pycode_resolve(codes, &frame, read_memory, memory, &where), 0);
		assert_int_equal(strlen(where.function), PYCODE_NAME_MAX + 3 * over);
		assert_string_equal(strchr(where.function, '?') + strspn(where.function, "?"), over ? "..." : "");
		assert_int_equal(where.line, over ? 0 : 13);
		assert_int_equal(where.first_line, 10);
		pycode_free(codes);

		codes = pycode_new(layout, CODE_TYPE);
		put64(memory, CODE + layout->code_filename, BASE + ENDLESS);
		put_str(memory, layout, ENDLESS, 0x64, PYCODE_FILE_MAX + over, "", 0);
		assert_int_equal(pycode_resolve(codes, &frame, read_memory, memory, &where), 0);
		assert_int_equal(strlen(where.file), PYCODE_FILE_MAX + 3 * over);
		assert_string_equal(where.file + strspn(where.file, "?"), over ? "..." : "");
		pycode_free(codes);
	}
	free(memory);
}

/* The same object at any number of addresses. */
static int read_alias(void *arg, uint64_t addr, void *dst, size_t n)
{
	return read_memory(arg, BASE + (addr - BASE) % ALIAS, dst, n);
}

static bool is_kept(struct pycode *codes, struct memory *memory, uint64_t alias)
{
	struct gmt_py_frame frame = { .code = BASE + CODE + alias * ALIAS, .lasti = 2,
				      .check = check_in(memory, pylayout_of(12)) };
	unsigned int reads = memory->reads;
	struct pycode_where where;

	assert_int_equal(pycode_resolve(codes, &frame, read_alias, memory, &where), 0);
	assert_string_equal(where.function, "A.f");
	assert_int_equal(where.line, 13);
	return memory->reads == reads;
}

/* A program makes code objects without end: then all are forgotten, and those that are asked for are read again. */
static void memory_is_bounded(void **state)
{
	(void)state;
	const struct pylayout *layout = pylayout_of(12);
	struct memory *memory = calloc(1, sizeof(*memory));
	struct pycode *codes = pycode_new(layout, CODE_TYPE);
	uint64_t most = PYCODE_MEMORY_MAX / PYCODE_LINES_MAX - 1; /* objects take a little more than their lines */

	put_code(memory, layout, 10);
	put64(memory, LINES + PYLAYOUT_VAR_SIZE, PYCODE_LINES_MAX);
	for (uint64_t i = 0; i < most; i++)
		assert_false(is_kept(codes, memory, i));
	for (uint64_t i = 0; i < most; i++)
		assert_true(is_kept(codes, memory, i));
	assert_false(is_kept(codes, memory, most));
	assert_true(is_kept(codes, memory, most));
	for (uint64_t i = 0; i < most - 1; i++)
		assert_false(is_kept(codes, memory, i));
	pycode_free(codes);
	free(memory);
}

static bool is_pair(void *arg, const uint32_t *pair)
{
	return pair[0] == 1 && pair[1] == *(uint32_t *)arg;
}

/* The flags at the start of _PyRuntime look like the key 1. */
static void key_is_found(void **state)
{
	(void)state;
	const struct pylayout *layout = pylayout_of(11);
	uint32_t words[256] = { 1, 1, 1 }, key = 1, at = layout->runtime_key + 16;

	words[at / 4 - 1] = words[at / 4] = 1;
	assert_int_equal(pylayout_search_key(layout, words, 256, is_pair, &key), at);
	words[at / 4] = 0; /* moved forward */
	assert_int_equal(pylayout_search_key(layout, words, 256, is_pair, &key), 4);
	key = 2;
	assert_int_equal(pylayout_search_key(layout, words, 256, is_pair, &key), 0);
	words[255] = 1; /* where nothing follows */
	assert_int_equal(pylayout_search_key(layout, words, 256, is_pair, &key), 0);
	assert_int_equal(pylayout_search_key(layout, words, 0, is_pair, &key), 0);
}

static void key_moves(void **state)
{
	(void)state;
	struct pylayout layout = *pylayout_of(11), newer = *pylayout_of(12);

	pylayout_move_key(&layout, pylayout_of(11)->runtime_key + 16);
	assert_int_equal(layout.runtime_key, pylayout_of(11)->runtime_key + 16);
	assert_int_equal(layout.runtime_current, pylayout_of(11)->runtime_current + 16);
	pylayout_move_key(&newer, newer.runtime_key + 16);
	assert_int_equal(newer.runtime_current, 0); /* no such member */
}

/* The search for the key tries few threads, of which none may have a state: the row must be right. */
static void layouts_of_machines(void **state)
{
	(void)state;
	for (unsigned int minor = PYLAYOUT_MINOR_MIN; minor <= pylayout_newest(); minor++) {
		const struct pylayout *row = pylayout_of(minor);
		struct pylayout layout = *row;
		uint32_t more = minor <= 11 ? 16 : 0;

		pylayout_adapt(&layout, EM_X86_64);
		assert_memory_equal(&layout, row, sizeof(layout));
		pylayout_adapt(&layout, EM_AARCH64);
		assert_int_equal(layout.runtime_key, row->runtime_key + more);
		assert_int_equal(layout.runtime_current, row->runtime_current + more);
		assert_int_equal(layout.runtime_interps, row->runtime_interps);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lnotab),  cmocka_unit_test(linetable), cmocka_unit_test(locations),
		cmocka_unit_test(utf8),    cmocka_unit_test(strings),   cmocka_unit_test(reuse),
		cmocka_unit_test(only_the_name), cmocka_unit_test(no_code),
		cmocka_unit_test(texts_and_lines_are_bounded), cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(key_is_found), cmocka_unit_test(key_moves),
		cmocka_unit_test(layouts_of_machines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
