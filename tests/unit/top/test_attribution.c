// SPDX-License-Identifier: BSD-2-Clause
/* Which line of a stack is said to be the program's own, by the built-in rules. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "attribution.h"
#include "cli/cli.h"
#include "core/terms/frames.h"
#include "records.h"

#define PACKAGES "/venv/lib/python3.12/site-packages/"

/* The symbols of all stacks, from 1 on; a Python function has no module. */
static const struct {
	const char *function, *module, *file;
	uint32_t line;
} symbols[] = {
	{ "cuMemAlloc_v2", "/usr/lib/libcuda.so.1", "", 0 },
	{ "c10::cuda::malloc", PACKAGES "torch/lib/libc10_cuda.so", "", 0 },
	{ "Linear.forward", "", PACKAGES "torch/nn/modules/linear.py", 114 },
	{ "Net.forward", "", "/home/me/net.py", 21 },
	{ "main", "", "/home/me/train.py", 7 },
	{ "run", "", "/usr/lib/python3.12/threading.py", 900 },
	{ "Engine.step", "", PACKAGES "vllm/engine.py", 40 },
	{ "work", "/home/me/a.out", "/home/me/a.c", 12 },
	{ "helper", "/home/me/libhelp.so", "", 0 },
	{ "cublasCreate_v2", "/usr/lib/libcublas.so.12", "", 0 },
	{ "Rows.take", "", PACKAGES "mypackage/rows.py", 3 },
	{ "c10::cuda::malloc", "/opt/libs/torch/lib/libc10_cuda.so", "", 0 },
	{ "Linear.forward", "", "/opt/libs/torch/nn/modules/linear.py", 114 },
	{ "cuDevicePrimaryCtxRetain", "/usr/lib/libcuda.so.580.65", "", 0 },
	{ "main", "/home/me/a.out", "/home/me/a.c", 30 },
	{ "_start", "/home/me/a.out", "", 0 },
};
enum symbol { NONE, ALLOC, C10, LINEAR, NET, MAIN, THREADING, VLLM, WORK, HELPER, CUBLAS, ROWS, C10_MOVED, LINEAR_MOVED,
	      CONTEXT, A_MAIN, START };

#define FRAMES_MOST 6

/* Innermost first; the symbol whose line is the program's own. */
static const struct {
	enum symbol frames[FRAMES_MOST];
	enum symbol own, caller;
	bool is_driver;                                /* the memory is the driver's own */
} stacks[] = {
	{ { ALLOC, C10, LINEAR, NET, MAIN }, NET, MAIN, false },
	{ { ALLOC, C10, LINEAR, MAIN, THREADING }, MAIN, NONE, false },
	{ { ALLOC, C10, VLLM, THREADING }, VLLM, NONE, false },     /* all of it is installed: the outermost libraries say it */
	{ { ALLOC, C10, LINEAR, VLLM, MAIN }, MAIN, NONE, false },
	{ { ALLOC, ROWS, THREADING }, ROWS, NONE, false },
	{ { ALLOC, C10, LINEAR, THREADING }, NONE, NONE, false },
	{ { ALLOC, WORK, HELPER }, WORK, NONE, false },
	{ { ALLOC, HELPER, WORK }, WORK, NONE, false },             /* a line says more than a function */
	{ { ALLOC, HELPER, NET }, NET, NONE, false },               /* Python says more than native code */
	{ { ALLOC, CUBLAS, HELPER }, HELPER, NONE, false },
	{ { ALLOC, CUBLAS }, NONE, NONE, false },
	{ { ALLOC, C10_MOVED, LINEAR_MOVED, NET, MAIN }, NET, MAIN, false }, /* a PyTorch outside of site-packages */
	{ { ALLOC, C10_MOVED, NET, LINEAR_MOVED, MAIN }, NET, MAIN, false },
	{ { CONTEXT, C10, NET, MAIN }, NET, MAIN, true },
	{ { ALLOC, WORK, WORK, A_MAIN, START }, WORK, A_MAIN, false },     /* recursion, and what every program begins with */
	{ { ALLOC, HELPER, START }, HELPER, NONE, false },
	{ { ALLOC, C10, NET, LINEAR, NET, MAIN }, NET, MAIN, false },    /* a package in between */
};

static void put_stack(struct records *r, uint32_t id, const enum symbol *frames)
{
	uint32_t ids[FRAMES_MOST];
	size_t count = 0;

	for (; count < FRAMES_MOST && frames[count]; count++)
		ids[count] = frames[count];
	records_frames(r, id, count, ids);
}

static void own_lines(void **state)
{
	struct records *r = calloc(1, sizeof(*r));
	struct view_request request = { 0 };
	const struct frames *frames;
	struct options options = { 0 };
	struct attribution *a;
	char why[200];

	(void)state;
	a = attribution_new(&options, why, sizeof(why));
	assert_non_null(a);
	attribution_ask(a, &request);
	records_scene(r, ALL_LAYERS);
	for (uint32_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++)
		records_symbol(r, i + 1, symbols[i].function, symbols[i].module, symbols[i].file, symbols[i].line);
	for (uint32_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++)
		put_stack(r, 100 + i, stacks[i].frames);
	frames = ledger_frames(r->pipeline->ledger);
	for (uint32_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++) {
		struct view_verdict verdict = request.decide(request.arg, frames, frames_of(frames, 100 + i));
		enum symbol own = verdict.line == VIEW_NO_FRAME ? NONE : stacks[i].frames[verdict.line];

		if (own != stacks[i].own)
			fail_msg("stack %u: symbol %d, not %d", i, (int)own, (int)stacks[i].own);
		if ((verdict.caller ? stacks[i].frames[verdict.caller] : NONE) != stacks[i].caller)
			fail_msg("stack %u: called from frame %u", i, verdict.caller);
		if (verdict.is_driver != stacks[i].is_driver)
			fail_msg("stack %u: the driver's own: %d", i, verdict.is_driver);
	}
	attribution_free(a);
	records_fini(r);
	free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(own_lines) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
