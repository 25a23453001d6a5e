// SPDX-License-Identifier: BSD-2-Clause
/* What a verdict may not say: numbers from which a cause or its opposite does not follow. */
#include "oom_says.h"

#define A SCENE_AT
#define OOM GMT_CUDA_OUT_OF_MEMORY

/* Enough was free, so the size was no cause. */
static void test_room_for_a_large_request(void **state)
{
	struct records r;

	(void)state;
	begin(&r);
	CALL(&r, cuMemAlloc_v2, A, 20 * GiB);
	FAIL(&r, cuMemAlloc_v2, OOM, 0, 41 * GiB);
	CALL(&r, cuMemGetInfo_v2, 50 * GiB, 80 * GiB);
	records_exit(&r, 256);
	SAYS(&r, "one request", "WHY    a limit other than the GPU's memory: 50 GiB of 80 GiB were free");
}

static void hold_beside(struct records *r, uint64_t size)
{
	r->tgid = r->tid = 200;
	records_device(r, 0, 1);
	CALL(r, cuDevicePrimaryCtxRetain, 0xc0, 0);
	CALL(r, cuCtxSetCurrent, 0xc0);
	CALL(r, cuMemAlloc_v2, A, size);
	r->tgid = r->tid = 100;
}

/* As much as was requested was free: 4 KiB more would not have helped. */
static void test_a_tiny_neighbour(void **state)
{
	struct records r;

	(void)state;
	begin(&r);
	CALL(&r, cuMemAlloc_v2, A, 77 * GiB);
	hold_beside(&r, 4096);
	FAIL(&r, cuMemAlloc_v2, OOM, 0, 2 * GiB);
	CALL(&r, cuMemGetInfo_v2, 2 * GiB + 2 * MiB, 80 * GiB);
	records_exit(&r, 256);
	SAYS(&r, "another process: pid", "WHY    GPU 1 is full");
}

/* Together they held more than others can have held at the failure: one of them has ended since, and nobody is named. */
static void test_neighbours_of_another_moment(void **state)
{
	struct records r;

	(void)state;
	begin(&r);
	CALL(&r, cuMemAlloc_v2, A, 20 * GiB);
	records_gpu_memory(&r, 1, GiB, 78 * GiB);
	records_neighbour(&r, 1, 4242, 24 * GiB, "ended");
	records_neighbour(&r, 1, 77, 38 * GiB, "python");
	FAIL(&r, cuMemAlloc_v2, OOM, 0, 2 * GiB);
	CALL(&r, cuMemGetInfo_v2, GiB, 80 * GiB);
	records_exit(&r, 256);
	SAYS(&r, "4242", "WHY    other processes: the driver and processes that are not traced hold 59 GiB of 80 GiB");
}

/* A context has no size: a process that holds little is not in the way, and a GPU with much free memory is not full. */
static void test_much_room_for_a_context(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		struct records r;

		begin(&r);
		CALL(&r, cuMemAlloc_v2, A, 64 * MiB);
		r.tgid = r.tid = 200;
		records_device(&r, 0, 1);
		FAIL(&r, cuDevicePrimaryCtxRetain, OOM, 0, 0);
		if (i)
			CALL(&r, cuMemGetInfo_v2, 70 * GiB, 80 * GiB);
		records_exit(&r, 256);
		SAYS(&r, "another process: pid", i ? "WHY    a limit other than the GPU's memory: 70 GiB of 80 GiB were free (guess)"
		     : "WHY    not known: the traced processes hold 64 MiB of 80 GiB, which leaves at most 79.9 GiB");
	}
}

/* More than nothing may have been free: with the other's memory, the request may have fit. */
static void test_others_with_what_was_free(void **state)
{
	struct records r;

	(void)state;
	begin(&r);
	CALL(&r, cuMemAlloc_v2, A, 80 * GiB - 392 * MiB);
	hold_beside(&r, 200 * MiB);
	FAIL(&r, cuMemAlloc_v2, OOM, 0, 256 * MiB);
	records_exit(&r, 256);
	SAYS(&r, "less than was missing", "  192 MiB   0 %  free, at most");
}

static void test_untraced_is_not_none(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		struct records r;

		begin(&r);
		CALL(&r, cuMemAlloc_v2, A, 77 * GiB);
		FAIL(&r, cuMemAlloc_v2, OOM, 0, (i ? 4 : 2) * GiB);
		CALL(&r, cuMemGetInfo_v2, 3 * GiB / 2, 80 * GiB);
		records_exit(&r, 256);
		SAYS(&r, "another process: none", i ? "another process: all other processes and the driver hold 1.5 GiB"
		     : "another process: no other traced process holds memory");
	}
}

/* CUDA told nothing, but NVML: another process, which is not traced, holds the GPU. */
static void test_untraced_by_nvml(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		struct gmt_gpu_memory memory = { .used_bytes = 79 * GiB, .free_bytes = GiB,
						 .processes_bytes = (i == 1 ? 20 : 78) * GiB };
		struct records r;

		begin(&r);
		CALL(&r, cuMemAlloc_v2, A, 20 * GiB);
		records_nvml(&r, 1, GMT_NVML_SAMPLE, 20 * GiB);
		records_uuid(1, memory.uuid);
		records_apply(&r, &memory, GMT_KIND_GPU_MEMORY, sizeof(memory));
		r.ts_ns += i == 2 ? 3000000000ull : 1;  /* too long ago */
		FAIL(&r, cuMemAlloc_v2, OOM, 0, 4 * GiB);
		records_exit(&r, 256);
		if (i)
			SAYS(&r, "not traced hold", "WHY    not known");
		else
			SAYS(&r, "not known", "processes that are not traced hold 58 GiB of 80 GiB");
	}
}

static void begin_torch(struct records *r, uint64_t asked, uint64_t free_bytes)
{
	begin(r);
	CALL(r, cuMemAlloc_v2, A, 77 * GiB);
	records_block(r, A, 6 * GiB, 6 * GiB, 8 * GiB);
	FAIL(r, cuMemAlloc_v2, OOM, 0, asked);
	if (free_bytes)
		CALL(r, cuMemGetInfo_v2, free_bytes, 80 * GiB);
	records_exit(r, 256);
}

static void cache_pieces(struct oom *oom)
{
	oom->rows[0].torch_backend = GMT_TORCH_NATIVE;
	oom->rows[0].torch_gap = 10 * MiB;
	oom->rows[0].flags |= GMT_OOM_ROW_GAP;
}

static void cache_little(struct oom *oom)
{
	cache_pieces(oom);
	oom->rows[0].torch_reserved = oom->rows[0].torch_allocated + 300 * MiB;
}

/* How much was free is not known, so what would have fit is not known, either. */
static void test_expandable_with_what_was_free(void **state)
{
	struct records r;

	(void)state;
	begin_torch(&r, 5 * GiB - 200 * MiB, 0);
	SAYS_IF(&r, cache_pieces, "expandable_segments", "WHY    GPU 1 is full");
	begin_torch(&r, 200 * MiB, 10 * MiB);
	SAYS_IF(&r, cache_little, "fragmentation", "WHY    GPU 1 is full");
}

static void keep_much(struct oom *oom)
{
	oom->rows[0].iteration = 40;
	memset(oom->rows[0].category_bytes, 0, sizeof(oom->rows[0].category_bytes));
	oom->rows[0].category_bytes[GMT_CATEGORY_KEPT] = 5 * GiB;
	oom->rows[0].category_bytes[GMT_CATEGORY_PARAMETER] = GiB;
}

static void grow_unkept(struct oom *oom)
{
	keep_much(oom);
	oom->rows[0].category_bytes[GMT_CATEGORY_KEPT] = 0;
	oom->rows[0].growth = 400 * MiB;
	oom->rows[0].growth_count = 20;
}

/* With graphs of their own, say. The model needs 1 GiB of them. */
static void grow_by_gradients(struct oom *oom)
{
	grow_unkept(oom);
	oom->rows[0].category_bytes[GMT_CATEGORY_GRADIENT] = 5 * GiB;
}

static void grow_late(struct oom *oom)
{
	grow_by_gradients(oom);
	oom->rows[0].torch_before = GiB;    /* the model, maybe */
}

static void grow_now_and_then(struct oom *oom)
{
	grow_unkept(oom);
	oom->rows[0].growth_iterations = 400;
	oom->rows[0].category_bytes[GMT_CATEGORY_KEPT] = 5 * GiB;
}

static void grow_without_keeping(struct oom *oom)
{
	grow_now_and_then(oom);
	oom->rows[0].category_bytes[GMT_CATEGORY_KEPT] = 3 * GiB;
}

static void grow_beyond_all(struct oom *oom)
{
	grow_now_and_then(oom);
	oom->rows[0].growth = UINT64_MAX / 2;
}

static void test_leaks(void **state)
{
	struct records r;

	(void)state;
	begin_torch(&r, 3 * GiB, 10 * MiB);
	SAYS_IF(&r, keep_much, "a leak: the last 3", "WHY    GPU 1 is full");
	begin_torch(&r, 3 * GiB, 10 * MiB);
	SAYS_IF(&r, grow_now_and_then, "had ended", "WHY    a leak: at least 20 of the last 400 iterations left memory that"
		" is still allocated, 7.8 GiB in all (guess)");
	begin_torch(&r, 3 * GiB, 10 * MiB);
	SAYS_IF(&r, grow_without_keeping, "a leak:", "WHY    GPU 1 is full");
	begin_torch(&r, 3 * GiB, 10 * MiB);
	SAYS_IF(&r, grow_unkept, "WHY    a leak", "WHY    GPU 1 is full");
	begin_torch(&r, 3 * GiB, 10 * MiB);
	SAYS_IF(&r, grow_by_gradients, "had ended", "WHY    a leak: each of the last 20 iterations left more memory allocated"
		" than the one before, 400 MiB on average (guess)");
	begin_torch(&r, 3 * GiB, 10 * MiB);
	SAYS_IF(&r, grow_late, "WHY    a leak", "WHY    GPU 1 is full");
	begin_torch(&r, 3 * GiB, 10 * MiB);
	SAYS_IF(&r, grow_beyond_all, "WHY    a leak", "WHY    GPU 1 is full");
}

static void ask_for_a_picture(struct oom *oom)
{
	grow_now_and_then(oom);
	oom->rec.outcome = GMT_OOM_NONE;
}

static void ask_for_any_numbers(struct oom *oom)
{
	grow_beyond_all(oom);
	oom->rec.outcome = GMT_OOM_NONE;
}

/* Nothing has failed, so there is no cause. */
static void test_leaks_without_failure(void **state)
{
	struct records r;

	(void)state;
	begin_torch(&r, 3 * GiB, 10 * MiB);
	SAYS_IF(&r, ask_for_a_picture, "WHY", "LEAK    (guess) +7.8 GiB in the last 400 iterations, at least 20 of the 400 grew,"
		" 5 GiB kept\n");
	begin_torch(&r, 3 * GiB, 10 * MiB);
	SAYS_IF(&r, ask_for_any_numbers, "LEAK", "");
}

static void test_a_limit_with_losses(void **state)
{
	struct gmt_loss loss = { .count = { [GMT_LOSS_RING_FULL] = 7 } };
	struct gmt_fw_oom rec = { .size = GiB, .device_type = GMT_FW_GPU };
	struct records r;

	(void)state;
	begin(&r);
	records_apply(&r, &loss, GMT_KIND_LOSS, sizeof(loss));
	records_apply(&r, &rec, GMT_KIND_FW_OOM, sizeof(rec));
	SAYS(&r, "no driver call had failed",
	     "WHY    PyTorch's own memory limit refused the request: no failed driver call was recorded (guess)");
}

static void test_a_half_empty_gpu(void **state)
{
	struct records r;

	(void)state;
	begin(&r);
	CALL(&r, cuMemAlloc_v2, A, 46 * GiB);
	FAIL(&r, cuMemAlloc_v2, OOM, 0, 36 * GiB);
	records_exit(&r, 256);
	SAYS(&r, "is full", "WHY    GPU 1 had too little memory left: the traced processes hold 46 GiB of 80 GiB");
}

static void fail_an_import(struct oom *oom)
{
	oom->rec.class_id = GMT_CLASS_IMPORTED;
}

static void test_other_host_memory(void **state)
{
	struct records r;

	(void)state;
	begin(&r);
	CALL(&r, cuMemHostAlloc, A, 30 * GiB, 0);
	FAIL(&r, cuMemHostAlloc, OOM, 0, 2 * GiB, 0);
	ooms_finish(r.ooms);
	SAYS_IF(&r, fail_an_import, "pin less", "memory could not be provided");
}

/* All stacks have grown by `grown` since the second `since_s`. */
static void grow_by(struct oom *oom, int64_t grown, uint64_t since_s)
{
	size_t at = 0;

	for (size_t i = 0; i < oom->row_count; at += oom->rows[i++].stacks) {
		oom->rows[i].since_ns = since_s * SCENE_S;
		for (size_t k = at; k < at + oom->rows[i].stacks; k++) {
			oom->stacks[k].flags |= GMT_OOM_STACK_STEADY;
			oom->stacks[k].grown = grown;
		}
	}
}

static void grow_well(struct oom *oom)
{
	grow_by(oom, 20 * (int64_t)GiB, 10);
}

static void grow_a_little(struct oom *oom)
{
	grow_by(oom, 3 * (int64_t)MiB, 10);
}

static void grow_at_the_start(struct oom *oom)
{
	grow_by(oom, 20 * (int64_t)GiB, 1);
}

static void shrink(struct oom *oom)
{
	grow_by(oom, -20 * (int64_t)GiB, 10);
}

static void grow_since_later(struct oom *oom)
{
	grow_by(oom, 20 * (int64_t)GiB, 1000000);
}

/* A request for 2 GiB fails, 256 MiB are free, and the program dies of it. */
static void die_full(struct records *r)
{
	FAIL(r, cuMemAlloc_v2, OOM, 0, 2 * GiB);
	CALL(r, cuMemGetInfo_v2, 256 * MiB, 80 * GiB);
	records_exit(r, 256);
}

static void begin_growth(struct records *r)
{
	begin(r);
	scene_names(r);
	r->stack_id = 3;
	r->ts_ns = 60 * SCENE_S;
	CALL(r, cuMemAlloc_v2, A, 79 * GiB);
	die_full(r);
}

static void test_growth(void **state)
{
	struct records r;

	(void)state;
	begin_growth(&r);
	SAYS_IF(&r, grow_well, NULL, "WHY    growth: 20 GiB of 79 GiB came since ", ", growing all along, at ");
	begin_growth(&r);
	SAYS_IF(&r, shrink, "growth:", "WHY    GPU 1 is full");
	begin_growth(&r);
	SAYS_IF(&r, grow_at_the_start, "growth:", "WHY    GPU 1 is full");
	begin_growth(&r);
	SAYS_IF(&r, grow_since_later, "growth:", "WHY    GPU 1 is full");
}

/* A line makes 100 MiB a second, and at the end 60 GiB at once, by another stack. With `passing`, the other stack also
 * makes memory that ends, as a line of a model does. */
static void grow_faster(struct records *r, bool passing)
{
	uint64_t at = A;

	begin(r);
	scene_names(r);
	FRAMES(r, 5, 2, 3);        /* the line of stack 3 */
	for (int i = 0; i < 60; i++, r->ts_ns += SCENE_S, at += 100 * MiB) {
		r->stack_id = 3;
		CALL(r, cuMemAlloc_v2, at, 100 * MiB);
		r->stack_id = 5;
		if (passing) {
			CALL(r, cuMemAlloc_v2, A - GiB, 100 * MiB);
			RELEASE(r, cuMemFree_v2, A - GiB);
		}
	}
	r->stack_id = 5;
	for (int i = 0; i < 36; i++, at += 2 * GiB)
		CALL(r, cuMemAlloc_v2, at, 2 * GiB);
	die_full(r);
}

/* All memory of a line counts, by whatever stack, but only where what the line made is still there. */
static void test_growth_by_another_stack(void **state)
{
	struct records r;

	(void)state;
	grow_faster(&r, false);
	SAYS(&r, "is full", "WHY    growth: 76.3 GiB of 77.9 GiB came since ", "at train.py:77 cache (guess)",
	     "WHERE  train.py:77 cache  76.3 GiB", "DO     1 find what keeps the memory made at train.py:77 cache: a list");
	grow_faster(&r, true);
	SAYS(&r, "growth:", "WHY    GPU 1 is full", "WHERE  train.py:77 cache  77.9 GiB");
}

/* In a training, what came at the end are activations. */
static void keep_steadily(struct oom *oom)
{
	oom->rows[0].flags |= GMT_OOM_ROW_TORCH;
	oom->rows[0].iteration = 5;
	for (size_t i = 0; i < oom->stack_count; i++) {
		bool is_steady = oom->stacks[i].flags & GMT_OOM_STACK_STEADY;

		oom->stacks[i].purpose = 1 + (is_steady ? GMT_CATEGORY_KEPT : GMT_CATEGORY_ACTIVATION);
		if (is_steady)
			oom->stacks[i].live = (uint64_t)(oom->stacks[i].grown = 20 * (int64_t)GiB);
	}
}

/* Growth that is kept is named even if not all of the line's growth is kept. */
static void test_growth_of_what_is_kept(void **state)
{
	struct records r;

	(void)state;
	grow_faster(&r, false);
	SAYS_IF(&r, keep_steadily, "is full", "WHY    growth: 20 GiB of 77.9 GiB came since ");
}

/* Nothing is wrong with a size that was met. */
static void test_a_retry_that_succeeded(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		struct records r;

		begin(&r);
		CALL(&r, cuMemAlloc_v2, A, 40 * GiB);
		FAIL(&r, cuMemAlloc_v2, OOM, 0, 50 * GiB);
		if (i)
			RELEASE(&r, cuMemFree_v2, A);
		CALL(&r, cuMemAlloc_v2, A + 64 * GiB, 50 * GiB);
		SAYS(&r, i ? "WHY" : "slow step comes often", "DO     nothing must be done: a retry succeeded (50 GiB)",
		     i ? "       if this slow step comes often in PyTorch: set " : "ASKED");
	}
}

static void train(struct oom *oom)
{
	oom->rows[0].iteration = 4;
	memset(oom->rows[0].category_bytes, 0, sizeof(oom->rows[0].category_bytes));
	oom->rows[0].category_bytes[GMT_CATEGORY_ACTIVATION] = 70 * GiB;
}

/* Without stacks of blocks, the line that filled PyTorch's reserve is known. */
static void test_activations_without_block_stacks(void **state)
{
	struct records r;

	(void)state;
	begin(&r);
	scene_names(&r);
	r.stack_id = 1;
	CALL(&r, cuMemAlloc_v2, A, 77 * GiB);
	r.stack_id = 0;
	records_block(&r, A, 70 * GiB, 70 * GiB, 77 * GiB);
	r.stack_id = 1;
	FAIL(&r, cuMemAlloc_v2, OOM, 0, 12 * GiB);
	CALL(&r, cuMemGetInfo_v2, 2 * GiB, 80 * GiB);
	records_exit(&r, 256);
	SAYS_IF(&r, train, "short (guess)", "take 70 GiB of 70 GiB in tensors (guess); the request was 10 GiB short",
		"train.py:212 forward  77 GiB", "trace with --block-stacks");
}

/* Below a limit, growth that a finding leaves out may be all that there is. */
static void test_little_growth_below_a_limit(void **state)
{
	struct gmt_fw_oom rec = { .size = MiB, .device_type = GMT_FW_GPU };
	struct records r;

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		begin(&r);
		scene_names(&r);
		r.stack_id = 3;
		r.ts_ns = 60 * SCENE_S;
		CALL(&r, cuMemAlloc_v2, A, (i ? 40 : 10) * MiB);
		records_apply(&r, &rec, GMT_KIND_FW_OOM, sizeof(rec));
		SAYS_IF(&r, grow_a_little, i ? "growth:" : NULL,
			i ? "WHY    PyTorch's own memory limit" : "WHY    growth: 3 MiB of 10 MiB came since ",
			i ? "ASKED" : ", growing all along, at ",
			i ? "ASKED" : "and PyTorch's own memory limit refused the request");
	}
}

/* Which GPU was asked does not matter. */
static void test_more_than_any_gpu(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		struct records r;

		records_scene(&r, API_LAYER);
		FAIL(&r, cuMemAlloc_v2, OOM, 0, (i ? 79 : 81) * GiB);
		records_exit(&r, 256);
		SAYS(&r, i ? "the largest has" : "had too little memory left", "an unknown GPU",
		     i ? "ASKED  79 GiB" : "WHY    one request of 81 GiB, more than any GPU has: the largest has 80 GiB");
	}
}

static void unseen_first(struct oom *oom)
{
	oom->rec.flags |= GMT_OOM_UNSEEN;
	oom->rec.number = 1;
}

static void unseen_second(struct oom *oom)
{
	oom->rec.flags |= GMT_OOM_UNSEEN;
	oom->rec.number = 2;
}

/* Before the first failure there is none to look at. */
static void test_an_earlier_failure(void **state)
{
	static void (*const changes[])(struct oom *oom) = { unseen_first, unseen_second };

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		struct records r;

		begin(&r);
		FAIL(&r, cuMemAlloc_v2, OOM, 0, 2 * GiB);
		records_exit(&r, 256);
		SAYS_IF(&r, changes[i], i ? NULL : "look at the earlier failures", "WHY    not known: who held the memory",
			i ? "DO     1 look at the earlier failures" : "ASKED");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_room_for_a_large_request),
		cmocka_unit_test(test_a_tiny_neighbour), cmocka_unit_test(test_neighbours_of_another_moment),
		cmocka_unit_test(test_much_room_for_a_context),
		cmocka_unit_test(test_others_with_what_was_free),
		cmocka_unit_test(test_untraced_is_not_none), cmocka_unit_test(test_untraced_by_nvml),
		cmocka_unit_test(test_expandable_with_what_was_free),
		cmocka_unit_test(test_leaks),
		cmocka_unit_test(test_leaks_without_failure),
		cmocka_unit_test(test_a_limit_with_losses),
		cmocka_unit_test(test_a_half_empty_gpu),
		cmocka_unit_test(test_other_host_memory),
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_growth_by_another_stack),
		cmocka_unit_test(test_growth_of_what_is_kept),
		cmocka_unit_test(test_a_retry_that_succeeded),
		cmocka_unit_test(test_activations_without_block_stacks),
		cmocka_unit_test(test_little_growth_below_a_limit),
		cmocka_unit_test(test_more_than_any_gpu),
		cmocka_unit_test(test_an_earlier_failure),
	};

	return cmocka_run_group_tests_name("oom_rules", tests, NULL, NULL);
}
