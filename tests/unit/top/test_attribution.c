// SPDX-License-Identifier: BSD-2-Clause
/* Which line of a stack is said to be the program's own, by the built-in rules. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attribution.h"
#include "cli/cli.h"
#include "core/terms/frames.h"
#include "core/terms/owner_names.h"
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
	{ "Adam._init_group", "", PACKAGES "torch/optim/adam.py", 164 },
	{ "Bert.forward", "", PACKAGES "transformers/models/bert.py", 9 },
	{ "__init__", "", "/home/me/nets/__init__.py", 4 },
	{ "at::native::cudnn", PACKAGES "torch/lib/libcudnn.so.9", "", 0 },
	{ "fused", PACKAGES "fused_ext/_C.so", "", 0 },
	{ "torch::autograd::Engine", PACKAGES "torch/lib/libtorch_cpu.so", "", 0 },
};
enum symbol { NONE, ALLOC, C10, LINEAR, NET, MAIN, THREADING, VLLM, WORK, HELPER, CUBLAS, ROWS, C10_MOVED, LINEAR_MOVED,
	      CONTEXT, A_MAIN, START, ADAM, BERT, INIT, CUDNN, FUSED, ENGINE };

#define FRAMES_MOST 6

/* Innermost first; the symbol whose line is the program's own; who owns the memory, and the framework. */
static const struct {
	enum symbol frames[FRAMES_MOST];
	enum symbol own, caller;
	const char *owner, *allocator;
	bool is_driver;                                /* the memory is the driver's own */
} stacks[] = {
	{ { ALLOC, C10, LINEAR, NET, MAIN }, NET, MAIN, "net.py", "PyTorch", false },
	{ { ALLOC, C10, LINEAR, MAIN, THREADING }, MAIN, NONE, "train.py", "PyTorch", false },
	/* all of it is installed: the outermost libraries say it */
	{ { ALLOC, C10, VLLM, THREADING }, VLLM, NONE, "vLLM", "PyTorch", false },
	{ { ALLOC, C10, LINEAR, VLLM, MAIN }, MAIN, NONE, "vLLM", "PyTorch", false },
	{ { ALLOC, ROWS, THREADING }, ROWS, NONE, "application", NULL, false },
	{ { ALLOC, C10, LINEAR, THREADING }, NONE, NONE, "PyTorch", NULL, false },
	{ { ALLOC, WORK, HELPER }, WORK, NONE, "application", NULL, false },
	{ { ALLOC, HELPER, WORK }, WORK, NONE, "application", NULL, false }, /* a line says more than a function */
	{ { ALLOC, HELPER, NET }, NET, NONE, "application", NULL, false },   /* Python says more than native code */
	{ { ALLOC, CUBLAS, HELPER }, HELPER, NONE, "cuBLAS", NULL, false },
	{ { ALLOC, CUBLAS }, NONE, NONE, "cuBLAS", NULL, false },
	/* a PyTorch outside of site-packages */
	{ { ALLOC, C10_MOVED, LINEAR_MOVED, NET, MAIN }, NET, MAIN, "net.py", "PyTorch", false },
	{ { ALLOC, C10_MOVED, NET, LINEAR_MOVED, MAIN }, NET, MAIN, "net.py", "PyTorch", false },
	{ { CONTEXT, C10, NET, MAIN }, NET, MAIN, "CUDA context", NULL, true },
	/* recursion, and what every program begins with */
	{ { ALLOC, WORK, WORK, A_MAIN, START }, WORK, A_MAIN, "application", NULL, false },
	{ { ALLOC, HELPER, START }, HELPER, NONE, "application", NULL, false },
	{ { ALLOC, C10, NET, LINEAR, NET, MAIN }, NET, MAIN, "net.py", "PyTorch", false }, /* a package in between */
	{ { ALLOC, C10, LINEAR, BERT, NET, MAIN }, NET, MAIN, "transformers", "PyTorch", false },
	{ { ALLOC, C10, ADAM, LINEAR, MAIN }, MAIN, NONE, "torch.optim", "PyTorch", false },
	{ { ADAM, LINEAR, MAIN }, MAIN, NONE, "torch.optim", "PyTorch", false },   /* Python alone */
	{ { ALLOC, C10, LINEAR, INIT }, INIT, NONE, "nets/__init__.py", "PyTorch", false },
	{ { ALLOC, C10, CUDNN, LINEAR, MAIN }, MAIN, NONE, "cuDNN", "PyTorch", false },
	{ { ALLOC, C10, FUSED, MAIN }, MAIN, NONE, "fused_ext", "PyTorch", false },
	{ { ALLOC, C10, WORK, START }, WORK, NONE, "a.out", "PyTorch", false },
	{ { ALLOC, C10, ENGINE }, NONE, NONE, "PyTorch", NULL, false },
};

static void put_stack(struct records *r, uint32_t id, const enum symbol *frames)
{
	uint32_t ids[FRAMES_MOST];
	size_t count = 0;

	for (; count < FRAMES_MOST && frames[count]; count++)
		ids[count] = frames[count];
	records_frames(r, id, count, ids);
}

static void check_owner(uint32_t i, struct view_owner_names is)
{
	const char *allocator = stacks[i].allocator;

	if (strcmp(is.name, stacks[i].owner) || !is.allocator != !allocator ||
	    (allocator && strcmp(is.allocator, allocator)))
		fail_msg("stack %u: of %s (%s), not of %s", i, is.name, is.allocator ? is.allocator : "-", stacks[i].owner);
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
		check_owner(i, request.owner_names(request.arg, verdict.owner));
		assert_true(verdict.owner < request.owner_count);
	}
	attribution_free(a);
	records_fini(r);
	free(r);
}

/* A program may choose more names than are kept: then the framework is the owner. */
static void too_many_owners(void **state)
{
	struct owner_names names;
	char name[32];

	(void)state;
	owner_names_init(&names);
	for (uint32_t i = 0; i < OWNER_NAMES_MAX; i++) {
		snprintf(name, sizeof(name), "%u.py", i);
		assert_int_equal(owner_names_put(&names, name, 7), i);
	}
	assert_int_equal(owner_names_put(&names, "one more", 7), OWNER_NAMES_FULL);
	assert_int_equal(owner_names_put(&names, "3.py", 7), 3);
	assert_int_equal(owner_names_put(&names, "3.py", 8), OWNER_NAMES_FULL);
	owner_names_clear(&names);
	assert_int_equal(owner_names_put(&names, "one more", 7), 0);
	owner_names_fini(&names);
}

/* The view says how many stacks have no owner for that reason, once for each stack. */
static void stacks_without_owners(void **state)
{
	struct records *r = calloc(1, sizeof(*r));
	struct view_request request = { 0 };
	struct options options = { 0 };
	struct attribution *a;
	struct view view;
	char name[200];

	(void)state;
	a = attribution_new(&options, name, sizeof(name));
	assert_non_null(a);
	attribution_ask(a, &request);
	records_scene(r, ALL_LAYERS);
	records_device(r, 0, 1);
	CALL(r, cuDevicePrimaryCtxRetain, 0xc0, 0);
	CALL(r, cuCtxSetCurrent, 0xc0);
	records_symbol(r, C10, symbols[C10 - 1].function, symbols[C10 - 1].module, "", 0);
	for (uint32_t i = 0; i < OWNER_NAMES_MAX + 2; i++) {
		snprintf(name, sizeof(name), "/home/me/%u.py", i);
		records_symbol(r, 100 + i, "main", "", name, 1);
		FRAMES(r, 100 + i, C10, 100 + i);
		r->stack_id = 100 + i;
		CALL(r, cuMemAlloc_v2, 0x7f0000000000ull + i * 0x1000, 0x1000);
		if (i + 2 < OWNER_NAMES_MAX)
			continue;
		view_build(r->pipeline, &request, &view);
		assert_int_equal(view.dropped[VIEW_DROP_OWNERS], i < OWNER_NAMES_MAX ? 0 : i - OWNER_NAMES_MAX + 1);
		view_free(&view);
	}
	attribution_free(a);
	records_fini(r);
	free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_lines), cmocka_unit_test(too_many_owners), cmocka_unit_test(stacks_without_owners),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
