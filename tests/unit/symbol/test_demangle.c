// SPDX-License-Identifier: BSD-2-Clause
/* Names as people write them, long and short; names made to be too much. test_symbols.py compares with c++filt. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "symbol/elf/demangle.h"

static void both_languages(void **state)
{
	static const struct {
		const char *symbol, *full, *plain;
	} cases[] = {
		{ "main", "main", "main" },
		{ "_start", "_start", "_start" },
		{ "_Z", "_Z", "_Z" },
		{ "_ZNK1a1bIiE1cEv", "a::b<int>::c() const", "a::b<int>::c" },
		{ "_Z1fIiEvT_", "f<int>(int)", "f<int>" },
		{ "_ZlsRSoRK3Foo", "operator<<(std::ostream&, Foo const&)", "operator<<" },
		{ "_ZN3FoocvbEv", "Foo::operator bool()", "Foo::operator bool" },
		{ "_ZN2at6native12_GLOBAL__N_14workEv", "at::native::(anonymous namespace)::work()",
		  "at::native::(anonymous namespace)::work" },
		{ "_ZN1a1bEv.cold", "a::b() [clone .cold]", "a::b" },
		{ "memcpy@@GLIBC_2.14", "memcpy", "memcpy" },
		{ "_ZN1a1bEv@@V1", "a::b()", "a::b" },
		/* Rust, legacy: the hash is dropped */
		{ "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad",
		  "core::fmt::Formatter::pad" },
		{ "_ZN60_$LT$alloc..string..String$u20$as$u20$core..fmt..Display$GT$3fmt17h0123456789abcdefE",
		  "<alloc::string::String as core::fmt::Display>::fmt",
		  "<alloc::string::String as core::fmt::Display>::fmt" },
		/* Rust, v0 */
		{ "_RNvC6_123foo3bar", "123foo::bar", "123foo::bar" },
		{ "_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>", "std::mem::align_of::<f64>" },
		{ "_RNvXs_NtCs1234_7mycrate3fooNtB4_3BarNtNtCs5678_4core3fmt5Debug3fmt",
		  "<mycrate::foo::Bar as core::fmt::Debug>::fmt", "<mycrate::foo::Bar as core::fmt::Debug>::fmt" },
		/* a crate without a name: libiberty gives out a part without bytes */
		{ "_RIC0Kb0_E", "::<false>", "::<false>" },
	};
	char text[256];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		demangle(cases[i].symbol, true, text, sizeof(text));
		assert_string_equal(text, cases[i].full);
		demangle(cases[i].symbol, false, text, sizeof(text));
		assert_string_equal(text, cases[i].plain);
		demangle_short(cases[i].symbol, 0, text, sizeof(text));
		assert_string_equal(text, cases[i].plain);
	}
	assert_false(demangle("main", true, text, sizeof(text)));
	assert_false(demangle("_ZNot", true, text, sizeof(text)));
	assert_true(demangle("_Z1fv", true, text, sizeof(text)));
}

static void shortened(const char *name, size_t width, const char *wanted)
{
	char text[512];

	demangle_short(name, width, text, sizeof(text));
	assert_string_equal(text, wanted);
}

static void what_is_too_wide(void **state)
{
	(void)state;
	shortened("a::b<c<d<int>>, e<f>>::g<h>", 40, "a::b<c<d<int>>, e<f>>::g<h>");
	shortened("a::b<c<d<int>>, e<f>>::g<h>", 24, "a::b<c<d<>>, e<f>>::g<h>");
	shortened("a::b<c<d<int>>, e<f>>::g<h>", 21, "a::b<c<>, e<>>::g<h>");
	shortened("a::b<c<d<int>>, e<f>>::g<h>", 12, "a::b<>::g<>");
	shortened("a::b<c<d<int>>, e<f>>::g<h>", 8, "...::g<>");
	shortened("a::operator< <int>", 17, "a::operator< <>");
	shortened("a::operator<<<int>", 17, "a::operator<<<>");
	shortened("a::operator-><int>", 17, "a::operator-><>");
	shortened("a::operator()<int>(b)", 18, "a::operator()<>(b)");
	shortened("a::operator+<int, long>", 17, "a::operator+<>");
	shortened("my_operator<int, long>", 17, "my_operator<>");
	shortened("f<g(int)->h>::x", 8, "f<>::x");
	shortened("<alloc::vec::Vec<T, A> as core::ops::Drop>::drop", 46,
		  "<alloc::vec::Vec<> as core::ops::Drop>::drop");
	shortened("<alloc::vec::Vec<T, A> as core::ops::Drop>::drop", 20, "...::drop");
	shortened("std::mem::align_of::<f64>", 24, "std::mem::align_of::<>");
	shortened("at::native::(anonymous namespace)::gpu_kernel", 33, "...::gpu_kernel");
	shortened("one::two::three::four", 18, "...::three::four");
	shortened("a_very_long_name_without_any_scope", 16, "a_very_long_n...");
	shortened("short", 2, "short"); /* widths of no use are none */
	shortened("", 20, "");
	shortened("<<<<>>>><<<<>>>>", 8, "<<<<>...");
}

/* Each substitution doubles the name: 60 of them would be an exabyte. */
static void a_bomb_is_cut(void **state)
{
	char symbol[1024] = "_Z1f", text[4096];
	size_t at = strlen(symbol);
	struct timespec before, after;

	(void)state;
	/* f(a<b, b>, a<S0, S0>, ...): every parameter is made of two of the last one */
	at += (size_t)snprintf(symbol + at, sizeof(symbol) - at, "1aIiiE");
	for (int i = 0; i < 30; i++)
		at += (size_t)snprintf(symbol + at, sizeof(symbol) - at, "S_IS%c_S%c_E", i < 10 ? '0' + i : 'A' + i - 10,
				       i < 10 ? '0' + i : 'A' + i - 10);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
	assert_true(demangle(symbol, true, text, sizeof(text)));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
	assert_true(after.tv_sec - before.tv_sec < 3);
	assert_true(strlen(text) < sizeof(text));
	assert_string_equal(text + strlen(text) - 3, "...");
	demangle_short(symbol, 100, text, sizeof(text));
	assert_true(strlen(text) <= 100);
}

static void limits_hold(void **state)
{
	static const char symbol[] = "_ZN9namespace8functionIiEEvT_S1_";
	char *long_name = calloc(1, 3 * DEMANGLE_INPUT_MAX), *text;

	(void)state;
	for (size_t size = 0; size < 64; size++) {
		text = malloc(size ? size : 1);
		demangle(symbol, true, text, size);
		if (size)
			assert_true(strlen(text) < size);
		demangle_short(symbol, 12, text, size);
		if (size)
			assert_true(strlen(text) < size);
		free(text);
	}
	memset(long_name, 'x', 3 * DEMANGLE_INPUT_MAX - 1);
	memcpy(long_name, "_ZN20000", 8);
	text = malloc(32);
	assert_false(demangle(long_name, true, text, 32));
	assert_string_equal(text + 28, "...");
	free(text);
	free(long_name);
}

/* Whatever a symbol table holds: no crash (run with SAN=1), and never more than is asked for. */
static void any_text(void **state)
{
	static const char letters[] = "_ZRNKSt0123456789IEvbcilPRTdpDvLXJCnsa<>():{}$.";
	uint32_t seed = 99;
	char symbol[96], text[128];

	(void)state;
	for (int round = 0; round < 20000; round++) {
		size_t len = 2 + (seed >> 10) % 80;

		memcpy(symbol, round % 2 ? "_Z" : "_R", 2);
		for (size_t i = 2; i < len; i++) {
			seed = seed * 1664525 + 1013904223;
			symbol[i] = letters[(seed >> 16) % (sizeof(letters) - 1)];
		}
		symbol[len] = '\0';
		demangle(symbol, true, text, sizeof(text));
		assert_true(strlen(text) < sizeof(text));
		demangle_short(symbol, 30, text, sizeof(text));
		assert_true(strlen(text) <= 30);
		demangle_short(symbol + 1, 20, text, sizeof(text)); /* not mangled */
		assert_true(strlen(text) <= 20);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_languages),
		cmocka_unit_test(what_is_too_wide),
		cmocka_unit_test(a_bomb_is_cut),
		cmocka_unit_test(limits_hold),
		cmocka_unit_test(any_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
