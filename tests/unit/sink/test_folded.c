// SPDX-License-Identifier: BSD-2-Clause
/* Folded stack traces, read back as flame graph tools read them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/out.h"
#include "sinks.h"

#define FRAMES 6
#define ROOT "a:b?c? (42);host memory;"

static char *fold(const char *const *frames, size_t count, uint64_t bytes)
{
	struct view_symbol symbols[FRAMES];
	uint32_t indices[FRAMES];
	struct view_stack stack = { .state = VIEW_STACK_NAMED, .frame_count = (uint32_t)count, .frames = indices };
	struct view_stack_row row = { .held.live = bytes };
	struct view_proc proc = { .tgid = 42, .comm = "a;b\nc\xff" };
	struct view view = {
		.proc_count = 1, .procs = &proc, .stack_count = 1, .stacks = &stack, .symbol_count = count,
		.symbols = symbols,
	};
	struct out out;

	for (uint32_t i = 0; i < count; i++) {
		symbols[i] = (struct view_symbol){ .function = frames[i], .module = "", .file = "", .offset = 16 };
		indices[i] = i;
	}
	proc.host_stacks.top[VIEW_BY_LIVE] = (struct view_top){ .count = 1, .rows = &row };
	out_init_mem(&out);
	sink_find("folded")->write(&out, &view, &(struct sink_opts){ .folded_by = VIEW_BY_LIVE });
	return out_take(&out);
}

static void root_comes_first(void **state)
{
	static const char *const frames[] = { "leaf", "caller", "main" };
	char *text = fold(frames, 3, 4096);

	(void)state;
	assert_string_equal(text, ROOT "main;caller;leaf 4096\n");
	free(text);
}

static void nothing_breaks_a_line(void **state)
{
	static const char *const frames[] = { "a;b\nc\td\033[0m", "", "operator new(unsigned long) 12",
					      "gr\xc3\xbc\xc3\x9f", "\xff\xfe" };
	char *text = fold(frames, 5, UINT64_MAX);

	(void)state;
	assert_string_equal(text, ROOT "??;gr\xc3\xbc\xc3\x9f;operator new(unsigned long) 12;0x10;"
				  "a:b?c?d?[0m 18446744073709551615\n");
	free(text);
}

static void zero_bytes_give_no_line(void **state)
{
	static const char *const frames[] = { "a" };
	char *text = fold(frames, 1, 0);

	(void)state;
	assert_string_equal(text ? text : "", "");
	free(text);
}

/* Names of any bytes: each line is "FRAMES BYTES" and has as many frames as names, none of them empty. */
static void any_names_stay_one_line(void **state)
{
	regex_t strict;
	uint32_t seed = 12345;

	(void)state;
	assert_int_equal(regcomp(&strict, "^[^;[:cntrl:]]+(;[^;[:cntrl:]]+)* [0-9]+\n$", REG_EXTENDED | REG_NOSUB), 0);
	for (int round = 0; round < 3000; round++) {
		char names[4][24];
		const char *frames[4];
		size_t count = 1 + (size_t)round % 4, semicolons = 0;
		char *text;

		for (size_t i = 0; i < 4; i++) {
			size_t len = (seed >> 8) % 23;

			for (size_t k = 0; k < len; k++) {
				seed = seed * 1664525 + 1013904223;
				names[i][k] = (char)(seed >> 24 ? seed >> 24 : 1);
				if (round % 3 == 0)
					names[i][k] = "; \n\t\033 0a"[(seed >> 24) % 8];
			}
			names[i][len] = '\0';
			frames[i] = names[i];
		}
		text = fold(frames, count, 77);
		for (const char *at = text; *at; at++)
			semicolons += *at == ';';
		assert_int_equal(semicolons, count + 1);
		assert_int_equal(strlen(text) - 1, strcspn(text, "\n"));
		assert_null(strstr(text, ";;"));
		if (round % 3 == 0)
			assert_int_equal(regexec(&strict, text, 0, NULL, 0), 0);
		assert_string_equal(strrchr(text, ' '), " 77\n");
		free(text);
	}
	regfree(&strict);
}

/* ---- PyTorch's blocks ---- */

/* Segments of 100 bytes by one stack, 7 other bytes by another, and blocks by a third. */
static char *fold_blocks(uint64_t block_bytes, bool has_stacks, const char **why)
{
	static const char *const functions[] = { "cudaMalloc", "nccl", "forward" };
	static uint32_t frames[] = { 0, 1, 2 };
	struct view_symbol symbols[3];
	struct view_stack stacks[3];
	struct view_stack_row driver[] = {
		{ .stack = 0, .is_segment = true, .held.live = 100 }, { .stack = 1, .held.live = 7 },
	};
	struct view_stack_row block = { .stack = 2, .held.live = block_bytes };
	struct view_owner owner = { .owner = has_stacks ? 2 : VIEW_OWNER_NO_STACK };
	struct view_row row = { .gpu = VIEW_GPU_UNKNOWN };
	struct view_proc proc = { .tgid = 42, .comm = "python3", .rows = &row, .row_count = 1 };
	struct view view = {
		.proc_count = 1, .procs = &proc, .stack_count = 3, .stacks = stacks, .symbol_count = 3, .symbols = symbols,
	};
	struct sink_opts opts = { .folded_by = VIEW_BY_LIVE };
	struct out out;

	for (uint32_t i = 0; i < 3; i++) {
		symbols[i] = (struct view_symbol){ .function = functions[i], .module = "", .file = "" };
		stacks[i] = (struct view_stack){ .state = VIEW_STACK_NAMED, .frame_count = 1, .frames = &frames[i] };
	}
	row.stacks.top[VIEW_BY_LIVE] = (struct view_top){ .count = 2, .rows = driver };
	row.torch.stacks.top[VIEW_BY_LIVE] = (struct view_top){ .count = 1, .rows = &block };
	row.torch.stacks.owners = &owner;
	row.torch.stacks.owner_count = 1;
	out_init_mem(&out);
	sink_find("folded")->write(&out, &view, &opts);
	*why = sink_find("folded")->why_empty(&view, &opts);
	opts.folded_by = VIEW_BY_GROWN;
	assert_non_null(strstr(sink_find("folded")->why_empty(&view, &opts), "has grown"));
	view.proc_count = 0;
	assert_non_null(strstr(sink_find("folded")->why_empty(&view, &opts), "no process"));
	return out_take(&out);
}

static void check_blocks(uint64_t block_bytes, bool has_stacks, const char *wanted)
{
	const char *why;
	char *text = fold_blocks(block_bytes, has_stacks, &why);

	assert_string_equal(text, wanted);
	assert_null(why);
	free(text);
}

static void blocks_take_the_place_of_segments(void **state)
{
#define AT "python3 (42);GPU ?;"
	(void)state;
	check_blocks(60, true, AT "nccl 7\n" AT "forward 60\n" AT "[cached, in no block] 40\n");
	/* Blocks in segments from before the attach. */
	check_blocks(130, true, AT "nccl 7\n" AT "forward 130\n");
	check_blocks(60, false, AT "cudaMalloc 100\n" AT "nccl 7\n");
#undef AT
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(root_comes_first),
		cmocka_unit_test(nothing_breaks_a_line),
		cmocka_unit_test(zero_bytes_give_no_line),
		cmocka_unit_test(any_names_stay_one_line),
		cmocka_unit_test(blocks_take_the_place_of_segments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
