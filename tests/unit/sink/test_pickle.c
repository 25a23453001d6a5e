// SPDX-License-Identifier: BSD-2-Clause
/* The bytes of a pickle, as Python's pickletools disassembles them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/out.h"
#include "sink/export/pickle.h"

struct written {
	struct pickle p;
	struct out out;
};

static void begin(struct written *w)
{
	out_init_mem(&w->out);
	pickle_begin(&w->p, &w->out);
}

/* Everything between PROTO 4 and STOP. */
static void expect(struct written *w, const char *bytes, size_t size)
{
	pickle_end(&w->p);
	assert_int_equal(w->out.size, size + 3);
	assert_memory_equal(w->out.data, "\x80\x04", 2);
	assert_memory_equal(w->out.data + 2, bytes, size);
	assert_int_equal(w->out.data[size + 2], '.');
	out_close(&w->out);
}
#define EXPECT(w, bytes) expect(w, bytes, sizeof(bytes) - 1)

static void integers(void **state)
{
	static const struct { int64_t value; const char *bytes; size_t size; } cases[] = {
#define CASE(value, bytes) { value, bytes, sizeof(bytes) - 1 }
		CASE(0, "K\0"), CASE(255, "K\xff"), CASE(256, "M\x00\x01"), CASE(65535, "M\xff\xff"),
		CASE(65536, "J\0\0\1\0"), CASE(-1, "J\xff\xff\xff\xff"), CASE(INT32_MAX, "J\xff\xff\xff\x7f"),
		CASE(INT32_MIN, "J\0\0\0\x80"), CASE(2147483648, "\x8a\x05\0\0\0\x80\0"),
		CASE(-2147483649, "\x8a\x05\xff\xff\xff\x7f\xff"), CASE(0x7f1200000000, "\x8a\x06\0\0\0\0\x12\x7f"),
		CASE(0x800000000000, "\x8a\x07\0\0\0\0\0\x80\0"),
		CASE(INT64_MAX, "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"),
		CASE(INT64_MIN, "\x8a\x08\0\0\0\0\0\0\0\x80"),
#undef CASE
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct written w;

		begin(&w);
		pickle_int(&w.p, cases[i].value);
		expect(&w, cases[i].bytes, cases[i].size);
	}
}

static void texts(void **state)
{
	char text[301] = "", bytes[305] = "X\x2c\x01\0\0";
	struct written w;

	(void)state;
	begin(&w);
	pickle_text(&w.p, "gr\xc3\xbc\xc3\x9f\xff\xc3");
	EXPECT(&w, "\x8c\x08gr\xc3\xbc\xc3\x9f??");
	memset(text, 'a', 300);
	memset(bytes + 5, 'a', 300);
	begin(&w);
	pickle_text(&w.p, text);
	expect(&w, bytes, 305);
}

static void words_are_written_once(void **state)
{
	static const char a[] = "addr", b[] = "size";
	struct written w;

	(void)state;
	begin(&w);
	pickle_dict_begin(&w.p);
	pickle_word(&w.p, a);
	pickle_bool(&w.p, true);
	pickle_word(&w.p, b);
	pickle_word(&w.p, a);
	pickle_word(&w.p, b);
	pickle_bool(&w.p, false);
	pickle_dict_end(&w.p);
	EXPECT(&w, "}(\x8c\x04" "addr\x94\x88\x8c\x04size\x94h\0h\1\x89u");
}

static void lists_come_by_the_thousand(void **state)
{
	struct pickle_list list;
	struct written w;

	(void)state;
	begin(&w);
	pickle_list_begin(&w.p, &list);
	pickle_list_end(&w.p, &list);
	EXPECT(&w, "]");
	begin(&w);
	pickle_list_begin(&w.p, &list);
	for (int i = 0; i < 2000; i++) {
		pickle_list_next(&w.p, &list);
		pickle_int(&w.p, 7);
	}
	pickle_list_end(&w.p, &list);
	assert_int_equal(w.out.size, 2 + 1 + 2 * (1 + 2 * 1000 + 1));
	assert_memory_equal(w.out.data + 2, "](K\7", 4);
	assert_memory_equal(w.out.data + 2 + 2 + 2000, "e(K\7", 4);
	pickle_end(&w.p);
	out_close(&w.out);
}

static void many_are_kept(void **state)
{
	struct pickle_list list;
	struct written w;

	(void)state;
	begin(&w);
	pickle_list_begin(&w.p, &list);
	for (uint32_t i = 0; i < 300; i++) {
		pickle_list_next(&w.p, &list);
		pickle_int(&w.p, 1);
		assert_int_equal(pickle_keep(&w.p), i);
	}
	w.out.size = 2;
	pickle_again(&w.p, 255);
	pickle_again(&w.p, 256);
	pickle_pair(&w.p);
	EXPECT(&w, "h\xffj\0\1\0\0\x86");
}

static int take(void *arg, const void *data, size_t size)
{
	size_t *most = arg;

	(void)data;
	*most = size > *most ? size : *most;
	return 0;
}

/* Written values do not stay in memory. */
static void it_streams(void **state)
{
	struct pickle_list list;
	size_t most = 0;
	struct written w;

	(void)state;
	out_init(&w.out, take, &most);
	pickle_begin(&w.p, &w.out);
	pickle_list_begin(&w.p, &list);
	for (int i = 0; i < 1000000; i++) {
		pickle_list_next(&w.p, &list);
		pickle_int(&w.p, i);
	}
	pickle_list_end(&w.p, &list);
	pickle_end(&w.p);
	assert_int_equal(out_close(&w.out), 0);
	assert_in_range(most, 1000, 128 << 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers),
		cmocka_unit_test(texts),
		cmocka_unit_test(words_are_written_once),
		cmocka_unit_test(lists_come_by_the_thousand),
		cmocka_unit_test(many_are_kept),
		cmocka_unit_test(it_streams),
	};

	return cmocka_run_group_tests_name("pickle", tests, NULL, NULL);
}
