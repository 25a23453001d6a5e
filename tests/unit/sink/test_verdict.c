// SPDX-License-Identifier: BSD-2-Clause
/* The verdict about a request that failed: one golden text for each cause. */
#include "golden.h"

#include "base/human.h"
#include "base/out.h"
#include "core/terms/own_code.h"
#include "core/oom/oom_dump.h"
#include "oom_scene.h"
#include "sink/oom/oom_sinks.h"
#include "sink/sink.h"
#include "sink/text/finding_text.h"

#define A SCENE_AT
#define OOM GMT_CUDA_OUT_OF_MEMORY
#define WORKER 101           /* autograd's thread */
#define LINES_MAX 40
#define COLUMNS_MAX 80

enum traced { OPTIMIZER_STACK = 11, FORWARD_STACK, OTHER_FORWARD_STACK, BACKWARD_STACK, WORKER_STACK, LOAD_STACK };

/* The innermost frame of a Python file that is no package's. */
static struct view_verdict decide_line(void *arg, const struct frames *frames, uint32_t stack)
{
	struct view_verdict verdict = { .frame = 0, .line = VIEW_NO_FRAME };
	uint32_t count;
	const uint32_t *list = frames_list(frames, stack, &count);

	(void)arg;
	for (uint32_t i = count; i-- > 0;) {
		const struct frames_symbol *s = &frames->symbols[list[i]];

		if (!s->file[0] || own_code_of(s->file) != OWN_CODE_PROGRAM)
			continue;
		verdict.caller = verdict.line == VIEW_NO_FRAME ? 0 : verdict.line;
		verdict.line = i;
	}
	verdict.is_framework = verdict.line == VIEW_NO_FRAME;
	return verdict;
}

static struct view_owner_names only_owner(void *arg, uint32_t owner)
{
	(void)arg;
	(void)owner;
	return (struct view_owner_names){ .name = "PyTorch" };
}

static void check_size_of(const char *text)
{
	unsigned lines = 0;

	for (const char *at = text; *at; lines++) {
		size_t size = strcspn(at, "\n");

		if (size > COLUMNS_MAX)
			fail_msg("a line has %zu columns: %s", size, at);
		at += size + (at[size] == '\n');
	}
	if (lines > LINES_MAX)
		fail_msg("%u lines: %s", lines, text);
}

/* The finding of the report, which has the verdict in short. It is the same in the next view, which makes none. */
static void print_finding(struct out *out, const struct records *r, const struct view_request *request)
{
	struct view view;

	for (int again = 0; again < 2; again++) {
		view_build(r->pipeline, request, &view);
		for (size_t i = 0; i < view.finding_count; i++)
			if (view.findings[i].kind == FINDING_OF_OUT_OF_MEMORY && again)
				finding_text_answer(out, &view, &view.findings[i], &(struct sink_opts){ 0 });
		view_free(&view);
	}
}

static char *text_of(const struct pipeline *pl, const struct oom *oom, const struct view_request *request)
{
	struct oom_view view;
	struct out out;

	oom_view_build(pl, oom, request, &view);
	out_init_mem(&out);
	oom_print(&out, &view, &(struct sink_opts){ 0 });
	oom_view_free(&view);
	return out_take(&out);
}

static void put_record(void *arg, const void *record, size_t size)
{
	const struct pipeline *to = arg;

	assert_int_equal(ledger_apply(to->ledger, record, size), 0);
}

/* A dump of the request says what the request says here. */
static void check_dump(const struct records *r, const struct oom *oom, const struct view_request *request,
		       const char *text)
{
	struct pipeline *other = pipeline_new(&(struct pipeline_options){ .watches_requests = true });
	struct oom *again;
	char *text_again;

	oom_dump(r->ledger, oom, NULL, put_record, other);
	oom_dump_end(oom, put_record, other);
	ooms_finish(other->ooms);
	again = ooms_take(other->ooms);
	assert_non_null(again);
	text_again = text_of(other, again, request);
	assert_string_equal(text_again, text);
	free(text_again);
	oom_free(again);
	pipeline_free(other);
}

/* Prints the newest request of all that were decided. */
static void check_verdict(struct records *r, const char *golden)
{
	struct view_request request = {
		.decide = decide_line, .owner_names = only_owner, .owner_count = 1, .top = 10,
	};
	struct oom *oom = NULL, *next;
	struct out out;
	char *text;

	ooms_finish(r->ooms);
	while ((next = ooms_take(r->ooms))) {
		oom_free(oom);
		oom = next;
	}
	assert_non_null(oom);
	text = text_of(r->pipeline, oom, &request);
	check_dump(r, oom, &request, text);
	oom_free(oom);
	out_init_mem(&out);
	out_text(&out, text);
	free(text);
	print_finding(&out, r, &request);
	text = out_take(&out);
	check_size_of(text);
	golden_check(text, golden);
	records_fini(r);
}

/* ---- parts of scenes ---- */

static void begin(struct records *r, unsigned int layers)
{
	records_scene(r, layers);
	if (layers & GMT_LAYER_KERNEL)
		records_rm_scene(r);
	records_proc(r, 1, "python");
	records_device(r, 0, 1);
	CALL(r, cuDevicePrimaryCtxRetain, 0xc0, 0);
	CALL(r, cuCtxSetCurrent, 0xc0);
	records_symbol(r, 1, "c10::cuda::malloc", "/venv/libc10_cuda.so", "", 0);
	records_symbol(r, 2, "Net.forward", "", "/home/me/train.py", 21);
	records_symbol(r, 3, "train_step", "", "/home/me/train.py", 25);
	records_symbol(r, 4, "train_step", "", "/home/me/train.py", 28);
	records_symbol(r, 5, "backward", "", "/venv/site-packages/torch/_tensor.py", 500);
	records_symbol(r, 6, "load", "", "/home/me/train.py", 7);
	FRAMES(r, OPTIMIZER_STACK, 1, 3);
	FRAMES(r, FORWARD_STACK, 1, 2, 3);
	FRAMES(r, OTHER_FORWARD_STACK, 2, 3);    /* the same line, another stack */
	FRAMES(r, BACKWARD_STACK, 5, 4);
	FRAMES(r, WORKER_STACK, 1);
	FRAMES(r, LOAD_STACK, 1, 6);
}

/* A process beside the first. */
static void begin_other(struct records *r, uint32_t tgid, const char *name, uint64_t bytes)
{
	struct records first = *r;

	r->tgid = r->tid = tgid;
	r->stack_id = 0;
	records_proc(r, tgid, name);
	records_attach(r, true);
	records_device(r, 0, 1);
	CALL(r, cuDevicePrimaryCtxRetain, 0xc0, 0);
	CALL(r, cuCtxSetCurrent, 0xc0);
	CALL(r, cuMemAlloc_v2, A, bytes);
	r->tgid = first.tgid;
	r->tid = first.tid;
	r->stack_id = first.stack_id;
}

struct torch {
	struct records r;
	uint64_t at, allocated, reserved;
	uint64_t objects;
};

static void begin_torch(struct torch *t, uint64_t reserved)
{
	*t = (struct torch){ .at = A, .reserved = reserved };
	begin(&t->r, API_LAYER);
	CALL(&t->r, cuMemAlloc_v2, A, reserved);
}

static uint64_t block(struct torch *t, enum traced stack, uint64_t size)
{
	uint64_t at = t->at;

	t->r.stack_id = stack;
	records_block(&t->r, at, (int64_t)size, t->allocated += size, t->reserved);
	t->at += size;
	t->r.stack_id = 0;
	return at;
}

static void free_block(struct torch *t, uint64_t at, uint64_t size)
{
	records_block(&t->r, at, -(int64_t)size, t->allocated -= size, t->reserved);
}

static void ask_gradients(struct torch *t)
{
	struct gmt_fw_range rec = { .what = GMT_RANGE_BACKWARD, .stack_id = BACKWARD_STACK };

	records_apply(&t->r, &rec, GMT_KIND_FW_RANGE, sizeof(rec));
}

static void step(struct torch *t)
{
	uint64_t object = ++t->objects;

	scene_range(&t->r, object, GMT_RANGE_BEGIN, "Optimizer.step#SGD.step");
	scene_range(&t->r, object, GMT_RANGE_END, NULL);
}

/* An iteration that needs `passing` and keeps `kept`, from two stacks of one line. */
static void iterate(struct torch *t, uint64_t passing, uint64_t kept)
{
	uint64_t at = block(t, FORWARD_STACK, passing);

	if (kept) {
		block(t, FORWARD_STACK, kept / 2);
		block(t, OTHER_FORWARD_STACK, kept / 2);
	}
	ask_gradients(t);
	free_block(t, at, passing);
	t->at -= kept ? 0 : passing;
	step(t);
	t->r.ts_ns += SCENE_S;
}

/* A call fails, CUDA says what is free, and the process dies. */
static void run_out(struct records *r, uint64_t asked, uint64_t free_bytes)
{
	FAIL(r, cuMemAlloc_v2, OOM, 0, asked);
	CALL(r, cuMemGetInfo_v2, free_bytes, 80 * GiB);
	r->tid = r->tgid;
	records_exit(r, 256);
}

/* ---- causes ---- */

/* On autograd's thread: the line that waits is named. */
static void leak(void **state)
{
	struct torch t;

	(void)state;
	begin_torch(&t, 79 * GiB);
	block(&t, LOAD_STACK, 30 * GiB);
	for (int i = 0; i < 12; i++)
		iterate(&t, GiB, i ? 4 * GiB : 0);
	block(&t, FORWARD_STACK, GiB);
	ask_gradients(&t);
	t.r.tid = WORKER;
	t.r.stack_id = WORKER_STACK;
	run_out(&t.r, 6 * GiB, 256 * MiB);
	check_verdict(&t.r, "oom-leak.txt");
}

/* What autograd's threads allocate stands under the line that waits for them. */
static void backward(void **state)
{
	struct torch t;

	(void)state;
	begin_torch(&t, 79 * GiB);
	block(&t, LOAD_STACK, 10 * GiB);
	ask_gradients(&t);
	t.r.tid = WORKER;
	for (int i = 0; i < 6; i++)
		block(&t, WORKER_STACK, 10 * GiB);
	t.r.stack_id = WORKER_STACK;
	run_out(&t.r, 10 * GiB, 256 * MiB);
	check_verdict(&t.r, "oom-backward.txt");
}

/* No iterations: a cache that grows. */
static void growth(void **state)
{
	struct torch t;

	(void)state;
	begin_torch(&t, 79 * GiB);
	block(&t, LOAD_STACK, 10 * GiB);
	for (int i = 0; i < 60; i++, t.r.ts_ns += SCENE_S)
		block(&t, FORWARD_STACK, GiB);
	t.r.stack_id = FORWARD_STACK;
	run_out(&t.r, 16 * GiB, 256 * MiB);
	check_verdict(&t.r, "oom-growth.txt");
}

/* A second optimizer: four times the parameters. */
static void optimizer_state(void **state)
{
	struct torch t;

	(void)state;
	begin_torch(&t, 79 * GiB);
	block(&t, LOAD_STACK, 12 * GiB);
	block(&t, FORWARD_STACK, GiB);
	ask_gradients(&t);
	for (int i = 0; i < 2; i++) {
		scene_range(&t.r, 1000, GMT_RANGE_BEGIN, "Optimizer.step#Adam.step");
		block(&t, OPTIMIZER_STACK, 24 * GiB);
		scene_range(&t.r, 1000, GMT_RANGE_END, NULL);
		ask_gradients(&t);
	}
	t.r.stack_id = FORWARD_STACK;
	run_out(&t.r, 20 * GiB, 256 * MiB);
	check_verdict(&t.r, "oom-optimizer-state.txt");
}

static void activations(void **state)
{
	struct torch t;

	(void)state;
	begin_torch(&t, 79 * GiB);
	block(&t, LOAD_STACK, 10 * GiB);
	for (int i = 0; i < 8; i++)
		iterate(&t, 4 * GiB, 0);
	for (int i = 0; i < 32; i++)
		block(&t, i % 2 ? FORWARD_STACK : OTHER_FORWARD_STACK, 2 * GiB);
	t.r.stack_id = FORWARD_STACK;
	run_out(&t.r, 8 * GiB, 256 * MiB);
	check_verdict(&t.r, "oom-activations.txt");
}

static void pieces(void **state)
{
	struct torch t;

	(void)state;
	begin_torch(&t, 79 * GiB);
	for (int i = 0; i < 40; i++) {
		uint64_t at = block(&t, LOAD_STACK, GiB);

		block(&t, FORWARD_STACK, 900 * MiB);
		free_block(&t, at, GiB);
	}
	t.r.stack_id = FORWARD_STACK;
	run_out(&t.r, 6 * GiB, 256 * MiB);
	check_verdict(&t.r, "oom-fragmentation.txt");
}

static void neighbour(void **state)
{
	struct torch t;

	(void)state;
	begin_torch(&t, 20 * GiB);
	block(&t, LOAD_STACK, 19 * GiB);
	begin_other(&t.r, 200, "inference", 55 * GiB);
	begin_other(&t.r, 300, "notebook", 2 * GiB);
	t.r.stack_id = FORWARD_STACK;
	run_out(&t.r, 4 * GiB, 2 * GiB);
	check_verdict(&t.r, "oom-neighbour.txt");
}

/* A small neighbour whose memory would have been enough does not come first. */
static void small_neighbour(void **state)
{
	struct torch t;

	(void)state;
	begin_torch(&t, 75 * GiB);
	block(&t, LOAD_STACK, 74 * GiB);
	begin_other(&t.r, 200, "notebook", 2 * GiB);
	t.r.stack_id = FORWARD_STACK;
	run_out(&t.r, 2 * GiB, GiB);
	check_verdict(&t.r, "oom-small-neighbour.txt");
}

static void untraced(void **state)
{
	struct records r;

	(void)state;
	begin(&r, API_LAYER);
	r.stack_id = LOAD_STACK;
	CALL(&r, cuMemAlloc_v2, A, 20 * GiB);
	run_out(&r, 2 * GiB, GiB);
	check_verdict(&r, "oom-untraced.txt");
}

/* NVML has told who they are; one that NVML does not list holds the rest. */
static void untraced_with_names(void **state)
{
	struct records r;

	(void)state;
	begin(&r, API_LAYER);
	r.stack_id = LOAD_STACK;
	CALL(&r, cuMemAlloc_v2, A, 20 * GiB);
	records_gpu_memory(&r, 1, GiB, 78 * GiB);
	records_neighbour(&r, 1, 4242, 50 * GiB, "\033[2Jpython");
	records_neighbour(&r, 1, 77, 6 * GiB, "");
	records_neighbour(&r, 1, 78, GiB, "ollama");
	records_neighbour(&r, 0, 79, 70 * GiB, "elsewhere");
	records_more_neighbours(&r, 1, 3, GiB);
	run_out(&r, 2 * GiB, GiB);
	check_verdict(&r, "oom-untraced-named.txt");
}

static void begin_unknown_gpu(struct records *r)
{
	struct gmt_gpu rec = { .index = 1, .minor = 1, .name = "GPU" };

	begin(r, API_LAYER);
	records_uuid(1, rec.uuid);
	records_apply(r, &rec, GMT_KIND_GPU, sizeof(rec));
	r->stack_id = LOAD_STACK;
	CALL(r, cuMemAlloc_v2, A, 20 * GiB);
}

/* More than the GPU can have, whose size is not known. */
static void larger(void **state)
{
	struct records r;

	(void)state;
	begin_unknown_gpu(&r);
	run_out(&r, 500 * GiB, 58 * GiB);
	check_verdict(&r, "oom-larger.txt");
}

/* Nothing tells what was free: others may hold the rest. */
static void unknown_free(void **state)
{
	struct records r;

	(void)state;
	begin_unknown_gpu(&r);
	FAIL(&r, cuMemAlloc_v2, OOM, 0, GiB);
	records_exit(&r, 256);
	check_verdict(&r, "oom-unknown-free.txt");
}

/* The report names each cause in a few words. */
static void each_cause_has_words(void **state)
{
	(void)state;
	for (int kind = 0; kind < OOM_CAUSE_COUNT; kind++) {
		struct oom_why why = { .cause = (enum oom_cause_kind)kind, .asked = GiB, .bytes = GiB };
		struct out out;
		char *text;

		out_init_mem(&out);
		finding_text_why(&out, &why, 1);
		text = out_take(&out);
		assert_null(strstr(text, "null"));
		assert_non_null(oom_cause_word((enum oom_cause_kind)kind));
		free(text);
	}
}

static void too_large(void **state)
{
	struct records r;

	(void)state;
	begin(&r, API_LAYER);
	r.stack_id = LOAD_STACK;
	run_out(&r, 500 * GiB, 79 * GiB);
	check_verdict(&r, "oom-too-large.txt");
}

static void large(void **state)
{
	struct records r;

	(void)state;
	begin(&r, API_LAYER);
	r.stack_id = LOAD_STACK;
	CALL(&r, cuMemAlloc_v2, A, 20 * GiB);
	run_out(&r, 61 * GiB, 59 * GiB);
	check_verdict(&r, "oom-large.txt");
}

static void framework_limit(void **state)
{
	struct gmt_fw_oom rec = { .size = 40 * GiB, .device_type = GMT_FW_GPU, .stack_id = FORWARD_STACK };
	struct torch t;

	(void)state;
	begin_torch(&t, 20 * GiB);
	block(&t, LOAD_STACK, 19 * GiB);
	records_apply(&t.r, &rec, GMT_KIND_FW_OOM, sizeof(rec));
	check_verdict(&t.r, "oom-framework-limit.txt");
}

static void other_limit(void **state)
{
	struct records r;

	(void)state;
	begin(&r, API_LAYER);
	r.stack_id = LOAD_STACK;
	CALL(&r, cuMemAlloc_v2, A, 20 * GiB);
	run_out(&r, GiB, 40 * GiB);
	check_verdict(&r, "oom-other-limit.txt");
}

/* CUDA says nothing of free memory. */
static void unexplained(void **state)
{
	struct records r;

	(void)state;
	begin(&r, API_LAYER);
	r.stack_id = LOAD_STACK;
	CALL(&r, cuMemAlloc_v2, A, 20 * GiB);
	FAIL(&r, cuMemAlloc_v2, OOM, 0, GiB);
	records_exit(&r, 256);
	check_verdict(&r, "oom-unexplained.txt");
}

static void host_memory(void **state)
{
	struct records r;

	(void)state;
	begin(&r, API_LAYER);
	r.stack_id = LOAD_STACK;
	CALL(&r, cuMemHostAlloc, A, 30 * GiB, 0);
	FAIL(&r, cuMemHostAlloc, OOM, 0, 2 * GiB, 0);
	check_verdict(&r, "oom-host.txt");
}

/* Parameters and optimizer state take all; blocks have no stack traces. */
static void full(void **state)
{
	struct torch t;

	(void)state;
	begin_torch(&t, 79 * GiB);
	block(&t, 0, 40 * GiB);
	for (int i = 0; i < 8; i++)
		iterate(&t, 4 * GiB, 0);
	scene_range(&t.r, 1000, GMT_RANGE_BEGIN, "Optimizer.step#Adam.step");
	block(&t, 0, 36 * GiB);
	run_out(&t.r, 8 * GiB, 256 * MiB);
	check_verdict(&t.r, "oom-full.txt");
}

static void rm_memory(struct records *r, enum gmt_api api, uint64_t size)
{
	r->cause = api;
	records_rm_memory(r, 1, size);
	r->cause = 0;
}

static void large_context(void **state)
{
	struct records r;

	(void)state;
	begin(&r, ALL_LAYERS);
	rm_memory(&r, GMT_API_cuCtxSetLimit, 12 * GiB);
	CALL(&r, cuCtxSetLimit, 0, 0);
	rm_memory(&r, GMT_API_cuMemAlloc_v2, 60 * GiB);
	r.stack_id = LOAD_STACK;
	CALL(&r, cuMemAlloc_v2, A, 60 * GiB);
	run_out(&r, 9 * GiB, 7 * GiB);
	check_verdict(&r, "oom-context.txt");
}

/* A pool keeps what its allocations have given back. */
static void pool(void **state)
{
	struct records r;

	(void)state;
	begin(&r, ALL_LAYERS);
	rm_memory(&r, GMT_API_cuMemAllocAsync, 40 * GiB);
	r.stack_id = LOAD_STACK;
	CALL(&r, cuMemAllocAsync, A, 10 * GiB, 0);
	rm_memory(&r, GMT_API_cuMemAlloc_v2, 30 * GiB);
	CALL(&r, cuMemAlloc_v2, A + 40 * GiB, 30 * GiB);
	run_out(&r, 20 * GiB, 9 * GiB);
	check_verdict(&r, "oom-pool.txt");
}

/* The framework's cache is of no use for a launch. */
static void cache(void **state)
{
	struct gmt_rm_alloc rec = {
		.client = RM_CLIENT, .parent = RM_DEVICE(1), .object = 0xdead, .class_id = 0x40, .status = 0x51,
		.size = 2 * MiB,
	};
	struct torch t = { .at = A, .reserved = 78 * GiB };

	(void)state;
	begin(&t.r, ALL_LAYERS);
	rm_memory(&t.r, GMT_API_cuMemAlloc_v2, 78 * GiB);
	CALL(&t.r, cuMemAlloc_v2, A, 78 * GiB);
	block(&t, FORWARD_STACK, 20 * GiB);
	rec.cause.stack_id = 0;
	records_apply(&t.r, &rec, GMT_KIND_RM_ALLOC, sizeof(rec));
	records_exit(&t.r, 256);
	check_verdict(&t.r, "oom-cache.txt");
}

/* Memory from before the attach, on a GPU that the report does not name: the process uses only one. */
static void late(void **state)
{
	struct gmt_fw_oom rec = { .size = 2 * GiB, .device_type = GMT_FW_GPU, .device_index = 0 };
	struct records r;

	(void)state;
	records_init(&r);
	records_session(&r, ALL_LAYERS);
	records_gpu(&r, 0, 0);
	records_gpu(&r, 1, 0);
	r.tgid = r.tid = 100;
	records_proc(&r, 1, "python");
	records_attach(&r, false);
	records_nvml(&r, 1, GMT_NVML_BASELINE, 75 * GiB);
	records_block(&r, A, 512, 70 * GiB, 74 * GiB);
	r.tgid = r.tid = 200;
	records_proc(&r, 2, "inference");
	records_attach(&r, false);
	records_nvml(&r, 1, GMT_NVML_BASELINE, 4 * GiB);
	r.tgid = r.tid = 100;
	records_apply(&r, &rec, GMT_KIND_FW_OOM, sizeof(rec));
	check_verdict(&r, "oom-late.txt");
}

/* PyTorch's reserve is older than the attach, but most tensors are not: nobody need trace from the start. */
static void late_but_seen(void **state)
{
	struct gmt_fw_oom rec = { .size = 2 * GiB, .device_type = GMT_FW_GPU, .device_index = 0 };
	struct torch t = { .at = A, .reserved = 74 * GiB, .allocated = 10 * GiB };
	struct records *r = &t.r;

	(void)state;
	records_init(r);
	records_session(r, ALL_LAYERS);
	records_gpu(r, 1, 0);
	r->tgid = r->tid = 100;
	records_proc(r, 1, "python");
	records_attach(r, false);
	records_nvml(r, 1, GMT_NVML_BASELINE, 75 * GiB);
	records_symbol(r, 6, "load", "", "/home/me/train.py", 7);
	FRAMES(r, LOAD_STACK, 6);
	block(&t, LOAD_STACK, 60 * GiB);
	records_apply(r, &rec, GMT_KIND_FW_OOM, sizeof(rec));
	check_verdict(r, "oom-late-but-seen.txt");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leak),		   cmocka_unit_test(growth),
		cmocka_unit_test(optimizer_state),  cmocka_unit_test(backward),
		cmocka_unit_test(activations),	   cmocka_unit_test(pieces),
		cmocka_unit_test(neighbour),	   cmocka_unit_test(small_neighbour),
		cmocka_unit_test(untraced), cmocka_unit_test(untraced_with_names),	   cmocka_unit_test(too_large),
		cmocka_unit_test(unknown_free),	   cmocka_unit_test(larger),
			   cmocka_unit_test(each_cause_has_words),
		cmocka_unit_test(large),	   cmocka_unit_test(framework_limit),
		cmocka_unit_test(other_limit),	   cmocka_unit_test(unexplained),
		cmocka_unit_test(host_memory),	   cmocka_unit_test(full),
		cmocka_unit_test(large_context),   cmocka_unit_test(pool),
		cmocka_unit_test(cache),
		cmocka_unit_test(late),		   cmocka_unit_test(late_but_seen),
	};

	return cmocka_run_group_tests_name("verdict", tests, NULL, NULL);
}
