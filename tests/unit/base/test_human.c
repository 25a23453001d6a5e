/* SPDX-License-Identifier: BSD-2-Clause */
/* base/human: units, widths and foreign text. */
#include "golden.h"

#include "base/human.h"

#define KIB 1024ull
#define MIB (KIB * KIB)
#define GIB (MIB * KIB)

static void test_bytes(void **state)
{
	static const struct { uint64_t bytes; const char *text;
	} cases[] = {
		{ 0, "0 B" },
		{ 1, "1 B" },
		{ 1023, "1023 B" },
		{ KIB, "1 KiB" },
		{ 1536, "1.5 KiB" },
		{ 12 * MIB, "12 MiB" },
		{ 1023 * MIB, "1023 MiB" },
		{ MIB - 1, "1.0 MiB" },
		{ 100 * MIB + 1, "100 MiB" },
		{ 100 * MIB - 1, "100 MiB" },
		{ 80 * GIB, "80 GiB" },
		{ 3 * GIB / 2, "1.5 GiB" },
		{ 1024 * GIB, "1 TiB" },
		{ UINT64_MAX, "16.0 EiB" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(human_bytes(cases[i].bytes).s, cases[i].text);
	assert_string_equal(human_signed_bytes(-12 * (int64_t)MIB).s, "-12 MiB");
	assert_string_equal(human_signed_bytes(4096).s, "+4 KiB");
	assert_string_equal(human_signed_bytes(0).s, "0 B");
	assert_string_equal(human_signed_bytes(INT64_MIN).s, "-8 EiB");
	assert_string_equal(human_rate(1.5 * GIB).s, "1.5 GiB/s");
	assert_string_equal(human_rate(-1).s, "0 B/s");
}

/* Every table is laid out for this. */
static void test_bytes_take_eight_columns(void **state)
{
	(void)state;
	for (uint64_t n = 1; n; n = n > UINT64_MAX / 3 * 2 ? 0 : n + n / 2 + 1)
		for (int64_t d = -2; d <= 2; d++)
			assert_true(strlen(human_bytes(n + d).s) <= 8 || n + d > UINT64_MAX - 4);
}

static void test_counts(void **state)
{
	(void)state;
	assert_string_equal(human_count(0).s, "0");
	assert_string_equal(human_count(999).s, "999");
	assert_string_equal(human_count(1000).s, "1,000");
	assert_string_equal(human_count(1234567).s, "1,234,567");
	assert_string_equal(human_count(UINT64_MAX).s, "18,446,744,073,709,551,615");
	assert_string_equal(human_plural(0, "process", "processes"), "processes");
	assert_string_equal(human_plural(1, "process", "processes"), "process");
	assert_string_equal(human_plural(UINT64_MAX, "process", "processes"), "processes");
	assert_string_equal(human_short(0).s, "0");
	assert_string_equal(human_short(0.4).s, "0.4");
	assert_string_equal(human_short(7).s, "7");
	assert_string_equal(human_short(9999).s, "9999");
	assert_string_equal(human_short(12345).s, "12.3k");
	assert_string_equal(human_short(999400).s, "999k");
	assert_string_equal(human_short(4.0e6).s, "4.0M");
}

static void test_durations(void **state)
{
	(void)state;
	assert_string_equal(human_duration(0).s, "0 ms");
	assert_string_equal(human_duration(850000000).s, "850 ms");
	assert_string_equal(human_duration(999900000).s, "1.0 s");
	assert_string_equal(human_duration(12340000000).s, "12.3 s");
	assert_string_equal(human_duration(59990000000).s, "1m 00s");
	assert_string_equal(human_duration(125000000000).s, "2m 05s");
	assert_string_equal(human_duration(11220ull * 1000000000).s, "3h 07m");
	assert_string_equal(human_duration(187200ull * 1000000000).s, "2d 04h");
	assert_string_equal(human_wall(1770113772000000000, "%Y-%m-%d %H:%M:%S").s, "2026-02-03 10:16:12");
	assert_string_equal(human_wall(1770113772999999999, "%H:%M:%S").s, "10:16:12");
}

static void test_mib(void **state)
{
	(void)state;
	assert_string_equal(human_mib(23450, 0).s, "2,345");
	assert_string_equal(human_mib(23450, 1).s, "2,345.0");
	assert_string_equal(human_mib(-15, 1).s, "-1.5");
	assert_string_equal(human_mib(-4, 0).s, "0");
	assert_string_equal(human_mib(12345678, 1).s, "1,234,567.8");
}

static void check_text(const char *in, unsigned columns, const char *wanted, unsigned takes)
{
	char text[128];

	assert_int_equal(human_text(text, columns, in, strlen(in)), takes);
	assert_string_equal(text, wanted);
}

static void test_text(void **state)
{
	(void)state;
	check_text("python train.py", 15, "python train.py", 15);
	check_text("python train.py", 10, "python ...", 10);
	check_text("python", 2, "..", 2);
	check_text("python", 0, "", 0);
	check_text("", 5, "", 0);
	/* A process may call itself anything. */
	check_text("a\x1b[2Jb\n\x7f\xc2\x9b" "c", 20, "a?[2Jb???c", 10);
	/* turned text: RLO, RLI, ALM, RLM, and a line separator; the characters beside these are text */
	check_text("a\xe2\x80\xae\xe2\x81\xa7\xd8\x9c\xe2\x80\x8f\xe2\x80\xa8z", 20, "a?????z", 7);
	check_text("\xe2\x80\x8d\xe2\x80\xaf\xd8\x9b", 20, "\xe2\x80\x8d\xe2\x80\xaf\xd8\x9b", 3);
	check_text("\xff\xc3", 20, "??", 2);
	check_text("h\xc3\xa4user.py", 9, "h\xc3\xa4user.py", 9);
	check_text("\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", 4, "\xc3\xa4...", 4);
}

static void test_utf8(void **state)
{
	(void)state;
	assert_int_equal(human_utf8("\xf0\x9f\x98\x80", 4), 4);
	assert_int_equal(human_utf8("\xf0\x9f\x98\x80", 3), 0);
	assert_int_equal(human_utf8("\xed\xa0\x80", 3), 0);       /* surrogate */
	assert_int_equal(human_utf8("\xe0\x80\x80", 3), 0);       /* overlong */
	assert_int_equal(human_utf8("\xf4\x90\x80\x80", 4), 0);   /* beyond U+10FFFF */
	assert_int_equal(human_utf8("\xc0\x80", 2), 0);
}

static void check_wrap(const char *text, const char *wanted)
{
	char line[200];

	snprintf(line, sizeof(line), "%s", text);
	human_wrap(line, 10);
	assert_string_equal(line, wanted);
}

/* Lines break at two blanks or at one; a word that no line has room for begins in the line, and stays whole. */
static void test_wrap(void **state)
{
	(void)state;
	check_wrap("", "");
	check_wrap("ten column\n", "ten column\n");
	check_wrap("ten column more", "ten column\nmore");
	check_wrap("eleven colum", "eleven\ncolum");
	check_wrap("a b c d e f g h", "a b c d e\nf g h");
	check_wrap("a word-that-is-long is whole", "a word-that-is-long\nis whole");
	check_wrap("a tenchars-- a", "a\ntenchars--\na");
	check_wrap("one two  b three", "one two\n b three");
	check_wrap("blanks  ", "blanks  ");
	check_wrap("z\xc3\xa4hlt Zeich \xc3\xbc", "z\xc3\xa4hlt\nZeich \xc3\xbc");
	check_wrap("z\xc3\xa4 \xc3\xbc\xc3\xa4 ok \xc3\xbc", "z\xc3\xa4 \xc3\xbc\xc3\xa4 ok \xc3\xbc");
}

/* The lines of a text, by the bytes of each. */
static void test_line(void **state)
{
	(void)state;
	assert_int_equal(human_line("", 10, 10), 0);
	assert_int_equal(human_line("  ", 10, 10), 0);
	assert_int_equal(human_line("word-that-is-long", 10, 10), 10);
	assert_int_equal(human_line("a word-that-is-long", 10, 10), 10);
	assert_int_equal(human_line("a word-that-is-long", 10, 20), 1);
	assert_int_equal(human_line("ten column word-that-is-long", 10, 10), 10);
	assert_int_equal(human_line("a b  c d e f", 10, 10), 3);
	assert_int_equal(human_line("zähl-ähl-ähl", 10, 10), 13);
	assert_int_equal(human_line("ab", 0, 0), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_line),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_bytes_take_eight_columns),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_durations),
		cmocka_unit_test(test_mib),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_wrap),
		cmocka_unit_test(test_utf8),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
