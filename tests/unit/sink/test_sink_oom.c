// SPDX-License-Identifier: BSD-2-Clause
/* Texts about failed requests: the whole text of one request, and the sentences of others. */
#include "golden.h"

#include "base/human.h"
#include "base/out.h"
#include "core/oom/oom_dump.h"
#include "oom_says.h"
#include "oom_scene.h"
#include "sink/oom/oom_sinks.h"
#include "sink/sink.h"

#define A SCENE_AT
#define OOM GMT_CUDA_OUT_OF_MEMORY

static void test_whole(void **state)
{
	struct records r;
	struct oom_view view;
	struct out out;

	(void)state;
	scene_fill(&r);
	scene_view(&r, &view);
	out_init_mem(&out);
	oom_print(&out, &view, &(struct sink_opts){ .full = true });
	golden_check(out_take(&out), "oom.txt");
	oom_view_free(&view);
	records_fini(&r);
}

static char *printed(const struct pipeline *pipeline, const struct oom *oom)
{
	struct view_request request = { .decide = scene_decide, .owner_names = scene_owner, .owner_count = 2, .top = 10 };
	struct oom_view view;
	struct out out;

	oom_view_build(pipeline, oom, &request, &view);
	out_init_mem(&out);
	oom_print(&out, &view, &(struct sink_opts){ .full = true, .full_stacks = true });
	oom_print_json(&out, &view, &(struct sink_opts){ 0 });
	oom_view_free(&view);
	return out_take(&out);
}

static void put(void *arg, const void *record, size_t size)
{
	assert_int_equal(pipeline_apply(arg, record, size), 0);
}

static void without(char *text, const char *first, const char *behind)
{
	char *from = strstr(text, first), *to = from ? strstr(from, behind) : NULL;

	assert_non_null(to);
	memmove(from, to, strlen(to) + 1);
}

/* The counts of records and the end of the session differ between stream and dump. */
static void without_stream(char *text)
{
	without(text, "\"end_reason\":", "\"session\":");
	without(text, "\"records\":", "\"anomalies\":");
}

/* A dump that is written now says what the request said before: `text` of printed(), which this function frees. */
static void check_dump(const struct records *r, const struct oom *oom, char *text)
{
	struct pipeline *other = pipeline_new(&(struct pipeline_options){ .watches_requests = true });
	struct oom *again;
	char *text_again;

	assert_int_equal(oom_unnamed(r->ledger, oom, NULL), 0);
	oom_dump(r->ledger, oom, NULL, put, other);
	oom_dump_end(oom, put, other);
	assert_null(ooms_take(other->ooms));
	ooms_finish(other->ooms);
	again = ooms_take(other->ooms);
	assert_non_null(again);
	text_again = printed(other, again);
	without_stream(text);
	without_stream(text_again);
	assert_string_equal(text, text_again);
	free(text);
	free(text_again);
	oom_free(again);
	pipeline_free(other);
}

static void test_a_dump_says_the_same(void **state)
{
	struct records r;
	struct oom *oom;

	(void)state;
	scene_fill(&r);
	oom = ooms_take(r.ooms);
	check_dump(&r, oom, printed(r.pipeline, oom));
	oom_free(oom);
	records_fini(&r);
}

static void sample_of_others(struct records *r, uint32_t gone, uint32_t pid, uint64_t bytes, const char *comm)
{
	records_gpu_memory(r, 1, 79 * GiB - bytes, GiB + bytes);
	records_neighbour(r, 1, gone, 0, "");
	records_neighbour(r, 1, pid, bytes, comm);
}

/* Others came and went before the failure, and between the failure and the dump. */
static void test_a_late_dump_names_the_same_processes(void **state)
{
	struct records r;
	struct oom *oom;
	char *text;

	(void)state;
	begin(&r);
	CALL(&r, cuMemAlloc_v2, A, GiB);
	sample_of_others(&r, 1, 4242, 77 * GiB, "before");
	r.ts_ns += 5000000000;
	FAIL(&r, cuMemAlloc_v2, OOM, 0, 2 * GiB);
	CALL(&r, cuMemGetInfo_v2, GiB, 80 * GiB);
	sample_of_others(&r, 4242, 4243, 78 * GiB, "nearest");
	r.ts_ns += 5000000000;
	sample_of_others(&r, 4243, 4244, 70 * GiB, "after");
	records_exit(&r, 256);
	oom = ooms_take(r.ooms);
	assert_non_null(oom);
	text = printed(r.pipeline, oom);
	assert_non_null(strstr(text, "pid 4243 (nearest): 78 GiB"));
	assert_null(strstr(text, "(before)"));
	sample_of_others(&r, 4244, 4245, 60 * GiB, "at the dump");
	check_dump(&r, oom, text);
	oom_free(oom);
	records_fini(&r);
}

static void test_more_than_there_is(void **state)
{
	struct records r;

	(void)state;
	begin(&r);
	FAIL(&r, cuMemAlloc_v2, OOM, 0, 500 * GiB);
	CALL(&r, cuMemAlloc_v2, A, MiB);
	SAYS(&r, "full", "WHY    one request of 500 GiB, more than all 80 GiB of GPU 1", "continued with something else.");
}

static void test_another_limit(void **state)
{
	struct records r;

	(void)state;
	begin(&r);
	FAIL(&r, cuMemAlloc_v2, OOM, 0, GiB);
	CALL(&r, cuMemGetInfo_v2, 40 * GiB, 80 * GiB);
	records_exit(&r, 256);
	SAYS(&r, "is full", "ASKED  1 GiB by cuMemAlloc_v2",
	     "WHY    a limit other than the GPU's memory: 40 GiB of 80 GiB were free",
	     "The process exited with 1");
}

static void test_a_limit_of_pytorch(void **state)
{
	struct gmt_fw_oom rec = { .size = GiB, .device_type = GMT_FW_GPU };
	struct records r;

	(void)state;
	begin(&r);
	records_apply(&r, &rec, GMT_KIND_FW_OOM, sizeof(rec));
	SAYS(&r, "holds 0 B", "ASKED  1 GiB\n",
	     "WHY    PyTorch's own memory limit refused the request: no driver call had failed", "PyTorch raised its out-of-memory error.");
}

static void test_untraced(void **state)
{
	struct records r;

	(void)state;
	begin(&r);
	CALL(&r, cuMemAlloc_v2, A, 20 * GiB);
	FAIL(&r, cuMemAlloc_v2, OOM, 0, 2 * GiB);
	CALL(&r, cuMemGetInfo_v2, GiB, 80 * GiB);
	records_exit(&r, 256);
	SAYS(&r, NULL, "WHY    other processes: the driver and processes that are not traced hold 59 GiB of 80 GiB; without"
	     " these processes the request would have fit", "   20 GiB  25 %  pid 100", "    1 GiB   1 %  free\n");
}

/* No single one is enough; NVML's numbers are of another moment, and their sum is more than what others held. */
static void test_untraced_with_names(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		struct records r;

		begin(&r);
		CALL(&r, cuMemAlloc_v2, A, 79 * GiB - 40 * MiB);
		records_gpu_memory(&r, 1, GiB, 70 * GiB);
		records_neighbour(&r, 1, 4242, 600 * MiB, "python");
		records_neighbour(&r, 1, 77, 500 * MiB, "ollama");
		r.ts_ns += i ? 10000000001ull : 9000000000ull;
		FAIL(&r, cuMemAlloc_v2, OOM, 0, 1000 * MiB);
		CALL(&r, cuMemGetInfo_v2, 16 * MiB, 80 * GiB);
		records_exit(&r, 256);
		if (i)
			SAYS(&r, "4242", "the driver, and processes that are not traced\n");
		else
			SAYS(&r, "the driver, and processes", "  600 MiB   1 %  pid 4242 (python), not traced\n"
			     "  500 MiB   1 %  pid 77 (ollama), not traced\n   16 MiB");
	}
}

/* Nothing traced holds memory of the GPU, but the GPU is known. */
static void test_only_untraced(void **state)
{
	struct records r;

	(void)state;
	begin(&r);
	records_gpu_memory(&r, 1, GiB, 79 * GiB);
	records_neighbour(&r, 1, 4242, 79 * GiB, "python");
	FAIL(&r, cuMemAlloc_v2, OOM, 0, 2 * GiB);
	CALL(&r, cuMemGetInfo_v2, GiB, 80 * GiB);
	records_exit(&r, 256);
	SAYS(&r, "lists the processes", "WHY    other processes: those that are not traced hold 79 GiB of 80 GiB"
	     " (pid 4242 (python): 79 GiB); without these processes the request would have fit",
	     "DO     1 if pid 4242 (python) is yours, end it; else ask its owner",
	     "GPU 1  GPU, 80 GiB\n   79 GiB  99 %  pid 4242 (python), not traced\n    1 GiB   1 %  free\n");
}

/* A request that is too large for a GPU that is half empty. */
static void test_not_so_much(void **state)
{
	struct records r;

	(void)state;
	begin(&r);
	CALL(&r, cuMemAlloc_v2, A, 20 * GiB);
	FAIL(&r, cuMemAlloc_v2, OOM, 0, 61 * GiB);
	CALL(&r, cuMemGetInfo_v2, 59 * GiB, 80 * GiB);
	records_exit(&r, 256);
	SAYS(&r, "is full", "WHY    one request of 61 GiB, 76 % of all 80 GiB of GPU 1");
}

static void test_retry(void **state)
{
	struct records r;

	(void)state;
	begin(&r);
	CALL(&r, cuMemAlloc_v2, A, 79 * GiB);
	FAIL(&r, cuMemAlloc_v2, OOM, 0, 2 * GiB);
	RELEASE(&r, cuMemFree_v2, A);
	CALL(&r, cuMemAlloc_v2, A, 2 * GiB);
	SAYS(&r, "WHY", "DO     nothing must be done: a retry succeeded (2 GiB), after 79 GiB was freed, 0 ms after the first"
			" failure; the step was slow, and there was no error\n",
	     "\n       if this slow step comes often in PyTorch: ");
}

static void test_pinned(void **state)
{
	struct records r;

	(void)state;
	begin(&r);
	CALL(&r, cuMemHostAlloc, A, 30 * GiB, 0);
	FAIL(&r, cuMemHostAlloc, OOM, 0, 2 * GiB, 0);
	ooms_finish(r.ooms);
	SAYS(&r, "GPU", "ASKED  2 GiB by cuMemHostAlloc", "WHY    the pinned host memory could not be provided; all traced"
	     " processes together hold 30 GiB", "the outcome is not known");
}

static void test_no_room_for_a_context(void **state)
{
	struct records r;

	(void)state;
	begin(&r);
	CALL(&r, cuMemAlloc_v2, A, 80 * GiB - 512 * MiB);
	r.tgid = r.tid = 200;
	records_device(&r, 0, 1);
	FAIL(&r, cuDevicePrimaryCtxRetain, OOM, 0, 0);
	records_exit(&r, 256);
	SAYS(&r, "leak", "ASKED  a context by cuDevicePrimaryCtxRetain", "WHY    another process: pid 100 (name unknown) holds 79.5 GiB"
	     " of 80 GiB; without it the request would have fit (guess)", "  512 MiB   1 %  free, at most", "exited with 1");
}

/* Too many failures for pictures: the text invents nothing. */
static void test_no_picture(void **state)
{
	struct records r;

	(void)state;
	begin(&r);
	CALL(&r, cuMemAlloc_v2, A, 79 * GiB);
	for (unsigned int i = 1; i < 20; i++) {
		CALL(&r, cuMemAlloc_v2, A + (100 + i) * GiB, MiB);      /* no two moments are alike */
		oom_free(ooms_take(r.ooms));
		FAIL(&r, cuMemAlloc_v2, OOM, 0, (1 + i) * GiB);
	}
	oom_free(ooms_take(r.ooms));
	records_exit(&r, 256);
	SAYS(&r, "free,", "ASKED  20 GiB", "WHY    not known: who held the memory at that moment was not recorded",
	     "exited with 1");
}

/* Memory of the scene's GPU that the kernel driver gives or refuses outside all traced calls. */
static void video_memory(struct records *r, uint32_t status, uint64_t size)
{
	struct gmt_rm_alloc rec = {
		.client = RM_CLIENT, .parent = RM_DEVICE(1), .object = 0xdead, .class_id = 0x40, .status = status,
		.size = size,
	};

	records_apply(r, &rec, GMT_KIND_RM_ALLOC, sizeof(rec));
}

/* The kernel driver has kept the rest for itself and refuses more. PyTorch's cache does not help. */
static void test_a_launch(void **state)
{
	struct records r;

	(void)state;
	begin_with(&r, ALL_LAYERS);
	video_memory(&r, 0, 79 * GiB);
	records_block(&r, A, 512, 512, GiB);
	video_memory(&r, 0x51, 2 * MiB);
	records_exit(&r, 256);
	SAYS(&r, "another process: p", "ASKED  2 MiB outside all traced calls, probably to launch a kernel",
	     "WHY    kernels, streams and graphs take 79 GiB beside all allocations, more than usual",
	     "and PyTorch's cache: 1.0 GiB of its 1 GiB are cached, and only tensors can use them",
	     "    2 MiB   0 %  free, less than this");
}

/* The free memory is not known: only a process that holds as much as was requested is certainly in the way. */
static void test_in_the_way(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		struct records r;

		begin_with(&r, ALL_LAYERS);
		video_memory(&r, 0, 77 * GiB);
		r.tgid = r.tid = 200;
		records_rm_scene(&r);
		video_memory(&r, 0, i ? 24 * MiB : 2 * MiB);
		r.tgid = r.tid = 100;
		video_memory(&r, 0x51, 4 * MiB);
		records_exit(&r, 256);
		if (i)
			SAYS(&r, NULL, "and another process: pid 200 (name unknown) holds 24 MiB of 80 GiB; without it", "less than this");
		else
			SAYS(&r, "another process", "WHY    kernels, streams and graphs take 77 GiB");
	}
}

/* The driver needs memory for itself, such as page tables. Measured on an H100, driver 580.159.04: with 2.19 MiB free,
 * the driver refused 2 MiB. */
static void test_the_last_of_it(void **state)
{
	struct records r;

	(void)state;
	begin(&r);
	CALL(&r, cuMemAlloc_v2, A, 79 * GiB);
	FAIL(&r, cuMemAlloc_v2, OOM, 0, 2 * MiB);
	CALL(&r, cuMemGetInfo_v2, 2293760, 80 * GiB);
	records_exit(&r, 256);
	SAYS(&r, "limit", "WHY    GPU 1 is full: the traced processes hold 79 GiB of 80 GiB", "  2.2 MiB   0 %  free",
	     "2.2 MiB were free, but the driver keeps some");
}

static char *picture_now(struct records *r)
{
	struct oom *oom = ooms_picture(r->ooms);
	struct view_request request = { .top = 10 };
	struct oom_view view;
	struct out out;

	oom_view_build(r->pipeline, oom, &request, &view);
	out_init_mem(&out);
	oom_print(&out, &view, &(struct sink_opts){ 0 });
	oom_view_free(&view);
	oom_free(oom);
	return out_take(&out);
}

/* What no process holds is free only where NVML has just said so. */
static void test_asked_for(void **state)
{
	static const struct { uint64_t later_ns; const char *rest; } cases[] = {
		{ 0, "    1 GiB   1 %  pid 100 (name unknown)\n   59 GiB  74 %  the driver, and processes that are not traced\n"
		     "   20 GiB  25 %  free\n" },
		{ 2000000001, "   79 GiB  99 %  not known: free, or held by other processes and the driver\n" },
	};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct records r;
		char *text;

		begin(&r);
		records_gpu_memory(&r, 1, 20 * GiB, 60 * GiB);
		r.ts_ns += cases[i].later_ns;
		CALL(&r, cuMemAlloc_v2, A, GiB);
		text = picture_now(&r);
		assert_true(!strncmp(text, "MEMORY IN USE (dump on request, no failure)  ", 45));
		assert_null(strstr(text, "WHY"));
		assert_non_null(strstr(text, cases[i].rest));
		assert_true(i || !strstr(text, "not known"));
		assert_true(!i || !strstr(text, "%  free"));
		free(text);
		records_fini(&r);
	}
}

#define CROWD 30
#define LINES_MOST 40

/* The verdict has 40 lines at most; the request, its cause and who asked are never left out. */
static void test_a_crowd(void **state)
{
	struct view_request request = { .top = 10 };
	struct oom_view view;
	struct records r;
	struct oom *oom;
	struct out out;
	char *text;

	(void)state;
	begin(&r);
	for (unsigned i = 0; i < CROWD; i++) {
		r.tgid = r.tid = 1000 + i;
		records_proc(&r, 1, "rank");
		records_device(&r, 0, 1);
		CALL(&r, cuDevicePrimaryCtxRetain, 0xc0, 0);
		CALL(&r, cuCtxSetCurrent, 0xc0);
		CALL(&r, cuMemAlloc_v2, A + i * GiB, GiB);
	}
	r.tgid = r.tid = 100;
	CALL(&r, cuMemAlloc_v2, A + CROWD * GiB, GiB);
	FAIL(&r, cuMemAlloc_v2, OOM, 0, 79 * GiB);
	records_exit(&r, 256);
	oom = ooms_take(r.ooms);
	oom_view_build(r.pipeline, oom, &request, &view);
	for (size_t i = 0; i < view.row_count; i++) {
		struct view_row *row = &view.view.procs[view.rows[i].proc].rows[0];

		row->torch.seen = row->torch.training.is_training = true;
		row->before_attach = 1;
		for (int c = 0; c < GMT_CATEGORY_COUNT; c++)
			row->torch.training.categories[c].live = 1000 + (uint64_t)c;
	}
	view.verdict.causes[1] = view.verdict.causes[2] = view.verdict.causes[0];
	view.verdict.cause_count = 3;
	view.verdict.remedies[1] = view.verdict.remedies[0];
	view.verdict.remedy_count = 2;
	out_init_mem(&out);
	oom_print(&out, &view, &(struct sink_opts){ .recording = "run.gmt" });
	text = out_take(&out);
	assert_in_range(human_lines(text), LINES_MOST - 4, LINES_MOST);
	assert_non_null(strstr(text, "\nWHY "));
	assert_non_null(strstr(text, ", its request failed\n"));
	assert_non_null(strstr(text, "\nMORE   1 detail: gpumemtrace oom --full run.gmt\n"));
	free(text);
	oom_view_free(&view);
	oom_free(oom);
	records_fini(&r);
}

/* A list has columns. */
static void test_words(void **state)
{
	(void)state;
	for (int i = 0; i < OOM_CAUSE_COUNT; i++) {
		const char *word = oom_cause_word(i);

		assert_non_null(word);
		assert_in_range(strlen(word), 1, OOM_WORD_COLUMNS);
		for (int other = 0; other < i; other++)
			assert_string_not_equal(word, oom_cause_word(other));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_a_dump_says_the_same),
		cmocka_unit_test(test_a_late_dump_names_the_same_processes),
		cmocka_unit_test(test_more_than_there_is),
		cmocka_unit_test(test_another_limit),
		cmocka_unit_test(test_a_limit_of_pytorch),
		cmocka_unit_test(test_untraced),
		cmocka_unit_test(test_untraced_with_names),
		cmocka_unit_test(test_only_untraced),
		cmocka_unit_test(test_not_so_much),
		cmocka_unit_test(test_retry),
		cmocka_unit_test(test_pinned),
		cmocka_unit_test(test_no_room_for_a_context),
		cmocka_unit_test(test_no_picture),
		cmocka_unit_test(test_a_launch),
		cmocka_unit_test(test_in_the_way),
		cmocka_unit_test(test_the_last_of_it),
		cmocka_unit_test(test_asked_for),
		cmocka_unit_test(test_a_crowd),
		cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests_name("sink_oom", tests, NULL, NULL);
}
