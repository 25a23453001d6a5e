/* SPDX-License-Identifier: BSD-2-Clause */
/* PyTorch that takes memory and reports no blocks: when that is said, and what as the cause. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "records.h"

#define A 0x7f0000000000ull

enum symbol { NO_SYMBOL, ASYNC, MALLOC, RETAIN, CUDART, CUDART_ASYNC, C10, TORCH, NCCL, PLUGGABLE, OWN };

/* Stacks by their frames, innermost first. */
enum stack_kind { NO_STACK, C10_ASYNC, C10_MALLOC, C10_CONTEXT, NCCL_MALLOC, OWN_MALLOC, RMM_ASYNC, NOT_NAMED_YET };

static int scene(void **state)
{
	static struct records r;

	records_scene(&r, API_LAYER);
	records_symbol(&r, ASYNC, "cuMemAllocAsync", "/usr/lib/libcuda.so.580.1", "", 0);
	records_symbol(&r, MALLOC, "cuMemAlloc_v2", "/usr/lib/libcuda.so.580.1", "", 0);
	records_symbol(&r, RETAIN, "cuDevicePrimaryCtxRetain", "/usr/lib/libcuda.so.580.1", "", 0);
	records_symbol(&r, CUDART, "", "/x/nvidia/cu13/lib/libcudart.so.13", "", 0);
	records_symbol(&r, CUDART_ASYNC, "cudaMallocAsync", "/x/nvidia/cu13/lib/libcudart.so.13", "", 0);
	records_symbol(&r, C10, "c10::cuda::CUDACachingAllocator::malloc", "/x/torch/lib/libc10_cuda.so", "", 0);
	records_symbol(&r, TORCH, "at::empty", "/x/torch/lib/libtorch_cuda.so", "", 0);
	records_symbol(&r, NCCL, "ncclCommInit", "/x/nccl/lib/libnccl.so.2", "", 0);
	records_symbol(&r, PLUGGABLE, "torch::cuda::CUDAPluggableAllocator::CUDAPluggableAllocator::malloc(unsigned long)",
		       "/x/torch/lib/libtorch_cuda.so", "", 0);
	records_symbol(&r, OWN, "my_malloc", "/x/alloc.so", "", 0);
	FRAMES(&r, C10_ASYNC, ASYNC, CUDART, CUDART_ASYNC, C10, TORCH);
	FRAMES(&r, C10_MALLOC, MALLOC, CUDART, C10, TORCH);
	FRAMES(&r, C10_CONTEXT, RETAIN, CUDART, C10, TORCH);
	FRAMES(&r, NCCL_MALLOC, MALLOC, CUDART, NCCL, TORCH, C10);
	FRAMES(&r, OWN_MALLOC, MALLOC, CUDART, OWN, PLUGGABLE, C10, TORCH);
	FRAMES(&r, RMM_ASYNC, ASYNC, CUDART_ASYNC, OWN, TORCH);
	*state = &r;
	return 0;
}

static void load(struct records *r, uint32_t flags)
{
	struct gmt_framework rec = { .flags = flags };

	records_apply(r, &rec, GMT_KIND_FRAMEWORK, sizeof(rec));
	assert_int_equal(r->result, 0);
}

static void allocate(struct records *r, enum stack_kind stack, unsigned int count)
{
	static uint64_t at = A;

	r->stack_id = stack;
	if (stack)
		records_stack(r, stack, GMT_UNWIND_END_ROOT);
	for (unsigned int i = 0; i < count; i++, at += MiB) {
		if (stack == C10_ASYNC || stack == RMM_ASYNC)
			CALL(r, cuMemAllocAsync, at, MiB, 0);
		else
			CALL(r, cuMemAlloc_v2, at, MiB);
	}
}

static enum gmt_torch_silence silence_of(const struct records *r)
{
	enum gmt_torch_silence silence;
	struct view view;

	view_build(r->pipeline, NULL, &view);
	assert_int_equal(view.proc_count, 1);
	silence = view.procs[0].torch_silence;
	view_free(&view);
	return silence;
}

static const struct {
	bool is_loaded;
	uint32_t flags;
	struct {
		enum stack_kind stack;
		unsigned int count;
	} calls[3];
	enum gmt_torch_silence wanted;
} cases[] = {
	/* the environment, and what it leads to */
	{ true, GMT_FRAMEWORK_ASYNC, { { C10_ASYNC, 1 } }, GMT_TORCH_ASYNC },
	{ true, GMT_FRAMEWORK_ASYNC, { { NO_STACK, 0 } }, GMT_TORCH_NOT_SILENT },
	{ true, GMT_FRAMEWORK_ASYNC, { { NCCL_MALLOC, 20 } }, GMT_TORCH_NOT_SILENT },
	{ true, GMT_FRAMEWORK_UNCACHED, { { C10_MALLOC, 1 } }, GMT_TORCH_UNCACHED },
	/* stacks */
	{ true, 0, { { C10_ASYNC, 2 } }, GMT_TORCH_ASYNC },
	{ true, 0, { { C10_MALLOC, 2 } }, GMT_TORCH_UNCACHED },
	{ true, 0, { { OWN_MALLOC, 2 } }, GMT_TORCH_PLUGGABLE },
	{ true, 0, { { NCCL_MALLOC, 30 }, { C10_ASYNC, 2 }, { OWN_MALLOC, 1 } }, GMT_TORCH_ASYNC },
	/* a first segment, whose block will be reported in a moment */
	{ true, 0, { { C10_MALLOC, 1 } }, GMT_TORCH_NOT_SILENT },
	/* others than PyTorch, and what is none of its allocator's */
	{ true, 0, { { NCCL_MALLOC, 30 } }, GMT_TORCH_NOT_SILENT },
	{ true, 0, { { RMM_ASYNC, 30 } }, GMT_TORCH_NOT_SILENT },
	{ true, 0, { { C10_CONTEXT, 30 } }, GMT_TORCH_NOT_SILENT },
	{ true, 0, { { NOT_NAMED_YET, 30 } }, GMT_TORCH_NOT_SILENT },
	/* no stacks are taken */
	{ true, 0, { { NO_STACK, 15 } }, GMT_TORCH_NOT_SILENT },
	{ true, 0, { { NO_STACK, 16 } }, GMT_TORCH_UNTOLD },
	/* a PyTorch that cannot report, and none at all */
	{ true, GMT_FRAMEWORK_NO_HOOK | GMT_FRAMEWORK_UNCACHED, { { NO_STACK, 1 } }, GMT_TORCH_NO_HOOK },
	{ true, GMT_FRAMEWORK_NO_HOOK, { { NO_STACK, 0 } }, GMT_TORCH_NOT_SILENT },
	{ false, 0, { { C10_ASYNC, 20 }, { NO_STACK, 20 } }, GMT_TORCH_NOT_SILENT },
};

static void causes(void **state)
{
	struct records *r = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (cases[i].is_loaded)
			load(r, cases[i].flags);
		r->stack_id = 0;
		CALL(r, cuDevicePrimaryCtxRetain, 0xc0, 0);
		for (size_t c = 0; c < 3 && cases[i].calls[c].count; c++)
			allocate(r, cases[i].calls[c].stack, cases[i].calls[c].count);
		if (silence_of(r) != cases[i].wanted)
			fail_msg("case %zu: %d, not %d", i, silence_of(r), cases[i].wanted);
		records_block(r, A, 512, 512, MiB);
		assert_int_equal(silence_of(r), GMT_TORCH_NOT_SILENT);
		records_end_scene(state);
		scene(state);
	}
}

static void another_program(void **state)
{
	struct records *r = *state;

	load(r, GMT_FRAMEWORK_UNCACHED);
	allocate(r, NO_STACK, 1);
	assert_int_equal(silence_of(r), GMT_TORCH_UNCACHED);
	records_exec(r);
	allocate(r, NO_STACK, 1);
	assert_int_equal(silence_of(r), GMT_TORCH_NOT_SILENT);
}

static void the_end_of_a_process(void **state)
{
	struct records *r = *state;

	load(r, 0);
	allocate(r, C10_ASYNC, 3);
	records_exit(r, 0);
	assert_int_equal(silence_of(r), GMT_TORCH_ASYNC);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, scene, records_end_scene)
	const struct CMUnitTest tests[] = { CASE(causes), CASE(another_program), CASE(the_end_of_a_process) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
