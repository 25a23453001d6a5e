// SPDX-License-Identifier: BSD-2-Clause
/* The parts of CPython's eval function that the compiler put elsewhere: by instructions made here, and in libraries
 * that compilers make. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <glob.h>

#include "../compile.h"
#include "cfi.h"
#include "symbol/python/eval_parts.h"
#include "symbol/python/pyfile.h"

#define CODE 0x100000ULL
#define CODE_BYTES 0x3000
#define BEFORE (CODE + 0x100)    /* a function before the eval function */
#define EVAL (CODE + 0x1000)
#define BEHIND (CODE + 0x2000)
#define FUNCTION_BYTES 0x100
#define HEADER_BYTES 64          /* of .eh_frame_hdr, which lies behind .eh_frame */

/* Three functions in call frame information, with its sorted table. */
static void make_image(struct cfi_image *made, uint16_t machine)
{
	static const uint64_t starts[] = { BEFORE, EVAL, BEHIND };
	struct cfi cfi = { .size = 0 };
	size_t fdes[3], header;

	cfi_cie_arm64(&cfi, "zR");
	for (size_t i = 0; i < 3; i++) {
		fdes[i] = cfi.size;
		cfi_fde(&cfi, starts[i], FUNCTION_BYTES, "", 0);
	}
	header = cfi.size;
	cfi_put(&cfi, 0x3b031b01, 4); /* version 1; pcrel and sdata4, udata4, datarel and sdata4 */
	cfi_put(&cfi, 0 - cfi.size, 4);
	cfi_put(&cfi, 3, 4);
	for (size_t i = 0; i < 3; i++) {
		cfi_put(&cfi, starts[i] - (CFI_VADDR + header), 4);
		cfi_put(&cfi, fdes[i] - header, 4);
	}
	while (cfi.size < header + HEADER_BYTES)
		cfi_put(&cfi, 0, 1);
	cfi_image(made, &cfi, CODE, CODE_BYTES);
	made->image.machine = machine;
	made->image.eh_frame_hdr = CFI_VADDR + header;
}

static void put_code(struct cfi_image *made, uint64_t vaddr, const void *bytes, size_t size)
{
	memcpy(made->file + (vaddr - CODE), bytes, size);
}

static void put_word(struct cfi_image *made, uint64_t vaddr, uint32_t word)
{
	put_code(made, vaddr, &word, sizeof(word));
}

static size_t parts_of(const struct cfi_image *made, struct gmt_py_range parts[EVAL_PARTS_MAX])
{
	struct gmt_py_range eval = { EVAL, EVAL + FUNCTION_BYTES };

	return eval_parts(&made->image, &eval, parts);
}

/* The low bits are the register and the bit that is tested, or the condition; none of them changes the distance. */
static const struct form {
	uint32_t bits, others;
	unsigned int shift, width;
	size_t parts;
} forms[] = {
	{ 0x54000000, 0x0000000e, 5, 19, 1 }, /* b.cond */
	{ 0x54000010, 0x00000001, 5, 19, 1 }, /* bc.ne */
	{ 0x34000000, 0x0000001e, 5, 19, 1 }, /* cbz w30 */
	{ 0xb5000000, 0x00000013, 5, 19, 1 }, /* cbnz x19 */
	{ 0x36000000, 0x00f80003, 5, 14, 1 }, /* tbz w3, #31 */
	{ 0xb7000000, 0x00f80003, 5, 14, 1 }, /* tbnz x3, #63 */
	{ 0x14000000, 0, 0, 26, 1 },          /* b */
	{ 0x94000000, 0, 0, 26, 0 },          /* bl: a call */
	{ 0x58000000, 0x00000001, 5, 19, 0 }, /* ldr x1, literal: no jump */
	{ 0x10000000, 0x00000001, 5, 19, 0 }, /* adr x1 */
};

static uint32_t branch(const struct form *form, uint64_t from, uint64_t to)
{
	uint32_t field = (uint32_t)((int64_t)(to - from) / 4) & ((1u << form->width) - 1);

	return form->bits | form->others | field << form->shift;
}

static void arm64_forms(void **state)
{
	struct gmt_py_range parts[EVAL_PARTS_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		for (int side = 0; side < 2; side++) {
			uint64_t part = side ? BEHIND : BEFORE;
			struct cfi_image made;

			make_image(&made, EM_AARCH64);
			put_word(&made, EVAL, branch(&forms[i], EVAL, part + 4));
			put_word(&made, EVAL + FUNCTION_BYTES - 4,
				 branch(&forms[i], EVAL + FUNCTION_BYTES - 4, part + FUNCTION_BYTES - 4));
			assert_int_equal(parts_of(&made, parts), forms[i].parts);
			if (forms[i].parts) {
				assert_int_equal(parts[0].start, part);
				assert_int_equal(parts[0].end, part + FUNCTION_BYTES);
			}
			free(made.file);
		}
	}
}

/* x86-64 has its jumps at any byte. */
static void x86_forms(void **state)
{
	struct gmt_py_range parts[EVAL_PARTS_MAX];

	(void)state;
	for (unsigned int condition = 0; condition < 18; condition++) {
		struct cfi_image made;

		make_image(&made, EM_X86_64);
		for (uint64_t i = 0; i < 2; i++) {
			uint64_t at = EVAL + 3 + 7 * i;
			uint32_t rel = (uint32_t)(BEFORE + 5 + i - (at + 6));
			unsigned char code[6] = { 0x0f, (unsigned char)(0x7f + condition) };

			memcpy(code + 2, &rel, sizeof(rel));
			put_code(&made, at, code, sizeof(code));
		}
		assert_int_equal(parts_of(&made, parts), condition > 0 && condition < 17);
		free(made.file);
	}
}

/* A call at the end of the function, one jump alone, jumps inside of the function and jumps to what is no code, or has
 * no call frame information, are no parts. */
static void no_parts(void **state)
{
	static const struct {
		uint64_t to[2];
		size_t parts;
	} rows[] = {
		{ { BEHIND, BEHIND }, 0 },          { { BEHIND, BEHIND + 4 }, 0 },
		{ { BEHIND + 4, BEFORE + 4 }, 0 },  { { EVAL + 8, EVAL + FUNCTION_BYTES - 4 }, 0 },
		{ { CODE - 16, CODE - 32 }, 0 },    { { CODE + 4, CODE + 8 }, 0 },
		{ { BEHIND + 4, BEHIND + 4 }, 1 },  { { EVAL + FUNCTION_BYTES, BEHIND - 4 }, 0 },
	};
	const struct form *b = &forms[6];
	struct gmt_py_range parts[EVAL_PARTS_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cfi_image made;

		make_image(&made, EM_AARCH64);
		for (uint64_t jump = 0; jump < 2; jump++)
			put_word(&made, EVAL + 16 * jump, branch(b, EVAL + 16 * jump, rows[i].to[jump]));
		assert_int_equal(parts_of(&made, parts), rows[i].parts);
		made.image.machine = EM_RISCV;
		assert_int_equal(parts_of(&made, parts), 0);
		free(made.file);
	}
}

/* The compiler puts the calls of a cold function into a part of their own. */
static const char source[] = "__attribute__((cold, noinline)) void slow(int a) { volatile int x = a; (void)x; }\n"
			     "int _PyEval_EvalFrameDefault(int *p, int n) {\n"
			     "	int s = 0;\n"
			     "	for (int i = 0; i < n; i++) {\n"
			     "		if (p[i] == 7) { slow(p[i]); slow(s); if (p[i] > 3) s--; }\n"
			     "		else if (p[i] == 9) { slow(p[i] + 1); s *= 3; slow(s); }\n"
			     "		else if (p[i] & 64) { slow(p[i] + 2); s *= 5; slow(s); }\n"
			     "		s += p[i];\n"
			     "	}\n"
			     "	return s;\n"
			     "}\n";

static size_t ranges_of(const char *path, struct gmt_py_range ranges[GMT_PY_EVAL_RANGES], uint16_t *machine)
{
	struct image image;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t count;

	assert_true(fd >= 0);
	assert_int_equal(image_open(&image, fd), 0);
	*machine = image.machine;
	count = pyfile_eval_ranges(&image, ranges);
	image_close(&image);
	return count;
}

/* Without symbols, the parts are those that symbols name. */
static void compiled(void **state, const char *prefix, uint16_t machine)
{
	struct gmt_py_range named[GMT_PY_EVAL_RANGES], found[GMT_PY_EVAL_RANGES];
	const struct workdir *dir = *state;
	char command[1024], path[128];
	uint16_t is;

	snprintf(path, sizeof(path), "%s/eval.c", dir->path);
	write_source(path, source);
	snprintf(command, sizeof(command),
		 "cd %s && %sgcc -O2 -freorder-blocks-and-partition -fPIC -shared -nostdlib -o named.so eval.c && "
		 "%sobjcopy --strip-all named.so stripped.so", dir->path, prefix, prefix);
	assert_int_equal(run_shell(command), 0);
	snprintf(path, sizeof(path), "%s/named.so", dir->path);
	assert_int_equal(ranges_of(path, named, &is), 2);
	snprintf(path, sizeof(path), "%s/stripped.so", dir->path);
	assert_int_equal(ranges_of(path, found, &is), 2);
	assert_memory_equal(named, found, 2 * sizeof(named[0]));
	assert_int_equal(is, machine);
}

static void compiled_here(void **state)
{
	compiled(state, "", EM_X86_64);
}

static void compiled_for_arm64(void **state)
{
	if (run_shell("command -v aarch64-linux-gnu-gcc >/dev/null"))
		skip();     /* apt-get install gcc-aarch64-linux-gnu */
	compiled(state, "aarch64-linux-gnu-", EM_AARCH64);
}

/* Debian's CPython of arm64 is stripped and has no parts. tests/symbol/test_tables_arm64.py fetches the files. */
static void debians(void **state)
{
	struct gmt_py_range ranges[GMT_PY_EVAL_RANGES];
	uint16_t machine;
	glob_t files;

	(void)state;
	if (glob("build/arm64-libraries/*/root/usr/lib/*/libpython3.*.so.1.0", 0, NULL, &files))
		skip();
	for (size_t i = 0; i < files.gl_pathc; i++) {
		assert_int_equal(ranges_of(files.gl_pathv[i], ranges, &machine), 1);
		assert_in_range(ranges[0].end - ranges[0].start, 20000, 200000);
		assert_int_equal(machine, EM_AARCH64);
	}
	globfree(&files);
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(arm64_forms), TEST(x86_forms), TEST(no_parts),
#if defined(__x86_64__)
		TEST(compiled_here),
#endif
		TEST(compiled_for_arm64), TEST(debians),
	};

	return cmocka_run_group_tests_name("eval_parts", tests, workdir_make, workdir_remove);
}
