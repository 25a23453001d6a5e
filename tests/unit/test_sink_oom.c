// SPDX-License-Identifier: BSD-2-Clause
/* What is said about requests that could not be met: the whole text of one, and the sentences of the others. */
#include "golden.h"

#include "base/out.h"
#include "oom_scene.h"
#include "sink/oom.h"
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
	oom_print(&out, &view, &(struct sink_opts){ 0 });
	golden_check(out_take(&out), "oom.txt");
	oom_view_free(&view);
	records_fini(&r);
}

/* A process on a GPU of 80 GiB. */
static void begin(struct records *r)
{
	records_scene(r, API_LAYER);
	records_device(r, 0, 1);
	CALL(r, cuDevicePrimaryCtxRetain, 0xc0, 0);
	CALL(r, cuCtxSetCurrent, 0xc0);
	ooms_want(r->ledger);
}

/* The sentences have all of these in them, and none of the second. */
static void says(struct records *r, const char *const *wanted, const char *unwanted)
{
	struct oom_view view;
	struct out out;
	char *text;

	scene_view(r, &view);
	out_init_mem(&out);
	oom_text(&out, &view, "");
	text = out_take(&out);
	for (; *wanted; wanted++)
		if (!strstr(text, *wanted))
			fail_msg("'%s' is not in: %s", *wanted, text);
	if (unwanted && strstr(text, unwanted))
		fail_msg("'%s' is in: %s", unwanted, text);
	free(text);
	oom_view_free(&view);
	records_fini(r);
}
#define SAYS(r, unwanted, ...) says(r, (const char *const[]){ __VA_ARGS__, NULL }, unwanted)

static void test_more_than_there_is(void **state)
{
	struct records r;

	(void)state;
	begin(&r);
	FAIL(&r, cuMemAlloc_v2, OOM, 0, 500 * GiB);
	CALL(&r, cuMemAlloc_v2, A, MiB);
	SAYS(&r, "full", "Process 100 asked for 500 GiB, and GPU 1 has only 80 GiB in all.", "went on with something else.");
}

static void test_another_limit(void **state)
{
	struct records r;

	(void)state;
	begin(&r);
	FAIL(&r, cuMemAlloc_v2, OOM, 0, GiB);
	CALL(&r, cuMemGetInfo_v2, 40 * GiB, 80 * GiB);
	records_exit(&r, 256);
	SAYS(&r, "is full", "GPU 1 was not full: 40 GiB were free when process 100 asked for 1 GiB. It met another limit.",
	     "The process exited with 1");
}

static void test_a_limit_of_pytorch(void **state)
{
	struct gmt_fw_oom rec = { .size = GiB, .device_type = GMT_C10_CUDA };
	struct records r;

	(void)state;
	begin(&r);
	records_apply(&r, &rec, GMT_KIND_FW_OOM, sizeof(rec));
	SAYS(&r, "full", "PyTorch met a limit of its own: no call of the driver had failed when process 100 asked it for"
	     " 1 GiB on GPU 1.", "PyTorch raised its error.");
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
	SAYS(&r, NULL, "GPU 1 is full: process 100 holds 20 GiB of its 80 GiB, the driver and processes that were not traced"
	     " 59 GiB; 1 GiB were free when it asked for 2 GiB.");
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
	SAYS(&r, NULL, "It was met in the end, by 2 GiB, after 79 GiB had been freed, 0 ms later: a slow step, no error.");
}

static void test_pinned(void **state)
{
	struct records r;

	(void)state;
	begin(&r);
	CALL(&r, cuMemHostAlloc, A, 30 * GiB, 0);
	FAIL(&r, cuMemHostAlloc, OOM, 0, 2 * GiB, 0);
	ooms_finish(r.ledger);
	SAYS(&r, "GPU", "The host had no pinned host memory for process 100, which asked for 2 GiB; all traced processes"
	     " together hold 30 GiB", "not known");
}

static void test_asked_for(void **state)
{
	struct view_request request = { .top = 10 };
	struct oom_view view;
	struct records r;
	struct oom *oom;
	struct out out;
	char *text;

	(void)state;
	begin(&r);
	CALL(&r, cuMemAlloc_v2, A, GiB);
	oom = ooms_picture(r.ledger);
	oom_view_build(r.ledger, oom, &request, &view);
	out_init_mem(&out);
	oom_print(&out, &view, &(struct sink_opts){ 0 });
	text = out_take(&out);
	assert_non_null(strstr(text, "Nothing failed: this picture was asked for."));
	assert_non_null(strstr(text, "100 "));
	assert_null(strstr(text, "free"));
	free(text);
	oom_view_free(&view);
	oom_free(oom);
	records_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_more_than_there_is),
		cmocka_unit_test(test_another_limit),
		cmocka_unit_test(test_a_limit_of_pytorch),
		cmocka_unit_test(test_untraced),
		cmocka_unit_test(test_retry),
		cmocka_unit_test(test_pinned),
		cmocka_unit_test(test_asked_for),
	};

	return cmocka_run_group_tests_name("sink_oom", tests, NULL, NULL);
}
