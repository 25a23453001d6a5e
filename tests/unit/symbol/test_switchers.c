// SPDX-License-Identifier: BSD-2-Clause
/* Libraries that switch stacks: a walk ends at the first function of a stack, or anywhere if no name tells which it is. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "compile.h"
#include "symbol/elf/image.h"
#include "symbol/unwind/switchers.h"
#include "symbol/unwind/unwind_table.h"

/* As g++ and greenlet 2 name the function, and the functions around it. */
#define GREENLET                                                                                      \
	"extern int other(int);\n"                                                                    \
	"int before(int n) { return other(n) + 1; }\n"                                                \
	"int _ZN8greenlet12UserGreenlet15inner_bootstrapEP9_greenletP7_object(int n) { return other(n) + 2; }\n" \
	"int after(int n) { return other(n) + 3; }\n"

static uint64_t vaddr_of(const struct image *image, const char *name)
{
	struct image_symbols symbols;
	uint64_t vaddr = 0;

	assert_true(image_symbols(image, SHT_DYNSYM, &symbols));
	for (size_t i = 0; i < symbols.count; i++)
		if (strstr(symbols.names + symbols.list[i].st_name, name))
			vaddr = symbols.list[i].st_value;
	image_symbols_free(&symbols);
	assert_true(vaddr);
	return vaddr;
}

static unsigned int rule_at(const struct unwind_table *table, uint64_t vaddr)
{
	uint32_t row = 0;

	while (row + 1 < table->rows && unwind_table_row(table, row + 1)->pc <= vaddr - table->base)
		row++;
	return unwind_table_row(table, row)->rule;
}

/* Compiles and marks; the rules of three functions, in order. */
static void mark(const struct workdir *dir, const char *source, const char *flags, const char *const names[3],
		 unsigned int rules[3])
{
	struct switchers_range ranges[SWITCHERS_MAX];
	struct unwind_table table;
	struct image image;
	char path[128];

	compile_library(dir, "greenlet.so", source, flags, path, sizeof(path));
	assert_int_equal(image_open(&image, open(path, O_RDONLY | O_CLOEXEC)), 0);
	assert_int_equal(unwind_table_build(&image, &table), 0);
	switchers_mark(&table, ranges, switchers_find(&image, ranges));
	assert_true(unwind_table_check(&table));
	for (int i = 0; i < 3; i++)
		rules[i] = rule_at(&table, vaddr_of(&image, names[i]) + 1);
	unwind_table_fini(&table);
	image_close(&image);
}

static void first_function_is_root(void **state)
{
	static const char *const names[3] = { "before", "inner_bootstrap", "after" };
	unsigned int rules[3];

	mark(*state, GREENLET, "", names, rules);
	assert_int_equal(rules[0], GMT_UNWIND_SP);
	assert_int_equal(rules[1], GMT_UNWIND_STOP);
	assert_int_equal(rules[2], GMT_UNWIND_SP);
	mark(*state, GREENLET, "-s", names, rules);     /* stripped: the function is exported */
	assert_int_equal(rules[1], GMT_UNWIND_STOP);
	assert_int_equal(rules[2], GMT_UNWIND_SP);
}

/* greenlet 1: a static function, which a stripped file does not name. */
static void older_greenlet(void **state)
{
	static const char source[] =
		"extern int other(int);\n"
		"int before(int n) { return other(n) + 1; }\n"
		"__attribute__((noinline)) static int g_initialstub(int n) { return other(n) + 2; }\n"
		"int g_switch(int n) { return g_initialstub(n) + 3; }\n"
		"int after(int n) { return other(n) + 4; }\n";
	static const char *const names[3] = { "before", "g_switch", "after" };
	unsigned int rules[3];

	mark(*state, source, "", names, rules);
	for (int i = 0; i < 3; i++)
		assert_int_equal(rules[i], GMT_UNWIND_SP);
	mark(*state, source, "-s", names, rules);
	for (int i = 0; i < 3; i++)
		assert_int_equal(rules[i], GMT_UNWIND_SWITCH);
}

/* Only a library that is made to be wrong has more: no place in it is a root then, and walks end at all of its code. */
static void too_many_first_functions(void **state)
{
	static const char *const names[3] = { "before", "inner_bootstrap_0", "after" };
	char source[1024] = "extern int other(int);\n";
	unsigned int rules[3];

	strcat(source, "int before(int n) { return other(n) + 1; }\nint after(int n) { return other(n) + 2; }\n");
	for (int i = 0; i <= SWITCHERS_MAX; i++) {
		if (i >= SWITCHERS_MAX - 1) {
			mark(*state, source, "", names, rules);
			assert_int_equal(rules[1], GMT_UNWIND_STOP);
			assert_int_equal(rules[2], GMT_UNWIND_SP);
		}
		snprintf(source + strlen(source), sizeof(source) - strlen(source),
			 "int inner_bootstrap_%d(int n) { return other(n) + 3; }\n", i);
	}
	mark(*state, source, "", names, rules);
	for (int i = 0; i < 3; i++)
		assert_int_equal(rules[i], GMT_UNWIND_SWITCH);
}

static void recognized_by_name(void **state)
{
	(void)state;
	assert_true(switchers_has("_greenlet.cpython-311-x86_64-linux-gnu.so"));
	assert_true(switchers_has("greenlet.cpython-38-x86_64-linux-gnu.so"));
	assert_false(switchers_has("libgreenlet.so"));
	assert_false(switchers_has("greenlets.so"));
	assert_false(switchers_has(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(first_function_is_root, workdir_make, workdir_remove),
		cmocka_unit_test_setup_teardown(older_greenlet, workdir_make, workdir_remove),
		cmocka_unit_test_setup_teardown(too_many_first_functions, workdir_make, workdir_remove),
		cmocka_unit_test(recognized_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
