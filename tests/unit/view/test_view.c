// SPDX-License-Identifier: BSD-2-Clause
/* The view: rows that add up, to the byte, to what NVML says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "core/oom/oom_requests.h"
#include "records.h"

#define A 0x7f0000000000ull
#define B 0x7f0010000000ull
#define CTX0 0xc0ull   /* ordinal 0: the GPU with index 1 */
#define S 1000000000ULL

static int scene(void **state)
{
	static struct records r;

	records_scene(&r, ALL_LAYERS);
	records_rm_scene(&r);
	*state = &r;
	return 0;
}

/* The identities of view.h. */
static void must_add_up(const struct view_row *row)
{
	const struct view_sum *s = &row->at_nvml;
	uint64_t sum = 0;

	for (int i = 0; i < GMT_PURPOSE_COUNT; i++)
		sum += row->by_purpose[i];
	assert_int_equal(sum, row->physical.live);
	if (row->has_physical)
		assert_int_equal(row->context + row->modules + row->pool_reserve + row->rounding + row->other,
				 (int64_t)(row->physical.live - row->attributed.live));
	if (!row->has_nvml)
		return;
	assert_int_equal(row->nvml, s->attributed + s->context + s->modules + s->pool_reserve + s->rounding + s->other +
					    s->before_attach + s->residual);
	assert_int_equal(row->residual, s->residual);
}

static struct view_row row_of(const struct records *r, int gpu)
{
	struct view_row row;

	assert_true(records_row(r, gpu, &row));
	must_add_up(&row);
	return row;
}

/* Memory on the GPU with index 1, obtained for `api`; mapped at `address` if there is one. */
static uint32_t obtain(struct records *r, enum gmt_api api, uint64_t size, uint64_t address)
{
	r->cause = api;
	uint32_t object = records_rm_memory(r, 1, size);

	if (address)
		records_rm_map(r, 1, address, size, object);
	return object;
}

static void a_job_from_its_start(void **state)
{
	struct records *r = *state;

	obtain(r, GMT_API_cuDevicePrimaryCtxRetain, 500 * MiB, 0);
	CALL(r, cuDevicePrimaryCtxRetain, CTX0, 0);
	CALL(r, cuCtxSetCurrent, CTX0);
	obtain(r, GMT_API_cuModuleLoadData, 30 * MiB, 0);
	obtain(r, GMT_API_cuMemAlloc_v2, 4 * MiB, A);
	CALL(r, cuMemAlloc_v2, A, 3 * MiB);
	obtain(r, GMT_API_cuMemAllocAsync, 32 * MiB, B);
	CALL(r, cuMemAllocAsync, B, MiB, 0);
	obtain(r, GMT_API_cuMemCreate, 20 * MiB, 0);
	CALL(r, cuMemCreate, 0x10, 20 * MiB, 1, 0, 1);
	obtain(r, GMT_API_NONE, 8 * MiB, 0); /* a launch */
	records_nvml(r, 1, GMT_NVML_SAMPLE, 594 * MiB);
	struct view_row row = row_of(r, 1);

	assert_int_equal(row.physical.live, 594 * MiB);
	assert_int_equal(row.attributed.live, 24 * MiB);
	assert_int_equal(row.context, 500 * MiB);
	assert_int_equal(row.modules, 30 * MiB);
	assert_int_equal(row.pool_reserve, 31 * MiB);
	assert_int_equal(row.rounding, MiB);
	assert_int_equal(row.other, 8 * MiB);
	assert_int_equal(row.residual, 0);
	assert_int_equal(row.before_attach, 0);
	assert_true(row.has_physical);
	assert_true(row.has_nvml);
}

/* records_scene() says that CUDA's device 0 is the GPU with index 1. */
static void a_gpu_has_cudas_number_also_after_the_end(void **state)
{
	struct records *r = *state;

	obtain(r, GMT_API_cuInit, 10 * MiB, 0);
	assert_int_equal(row_of(r, 1).ordinal, 0);
	records_exit(r, 0);
	assert_int_equal(row_of(r, 1).ordinal, 0);
	r->tgid = 200; /* whose devices nobody saw */
	records_attach(r, false);
	records_nvml(r, 1, GMT_NVML_SAMPLE, GiB);
	assert_int_equal(row_of(r, 1).ordinal, VIEW_ORDINAL_UNKNOWN);
	records_block(r, 0x7f0000000000, MiB, 2 * MiB, 4 * MiB); /* PyTorch says "device 0" */
	assert_int_equal(row_of(r, 1).ordinal, 0);
	records_nvml(r, 0, GMT_NVML_SAMPLE, GiB);
	assert_int_equal(row_of(r, 1).ordinal, VIEW_ORDINAL_UNKNOWN);
}

static void a_residual_is_shown(void **state)
{
	struct records *r = *state;

	obtain(r, GMT_API_cuInit, 10 * MiB, 0);
	records_nvml(r, 1, GMT_NVML_SAMPLE, 12 * MiB);
	assert_int_equal(row_of(r, 1).residual, 2 * MiB);
	records_nvml(r, 1, GMT_NVML_SAMPLE, 7 * MiB);
	assert_int_equal(row_of(r, 1).residual, -3 * (int64_t)MiB);
}

static void small_allocations_come_out_of_the_contexts_blocks(void **state)
{
	struct records *r = *state;

	uint32_t block = obtain(r, GMT_API_cuDevicePrimaryCtxRetain, 500 * MiB, A);

	(void)block;
	CALL(r, cuMemAlloc_v2, A, 3 * KiB);
	CALL(r, cuMemAllocAsync, A + MiB, KiB, 0);
	struct view_row row = row_of(r, 1);

	assert_int_equal(row.rounding, 0);
	assert_int_equal(row.pool_reserve, 0);
	assert_int_equal(row.context, 500 * MiB - 4 * KiB);
	assert_int_equal(row.other, 0);
}

static void small_allocations_of_a_late_attach_come_out_of_what_was_before(void **state)
{
	struct records *r = *state;

	r->tgid = 200;
	records_rm_scene(r);
	records_attach(r, false);
	records_nvml(r, 1, GMT_NVML_BASELINE, GiB);
	records_device(r, 0, 1);
	CALL(r, cuDevicePrimaryCtxRetain, CTX0, 0);
	CALL(r, cuCtxSetCurrent, CTX0);
	CALL(r, cuMemAlloc_v2, B, 512);
	struct view_row row = row_of(r, 1);

	assert_int_equal(row.attributed.live, 512);
	assert_int_equal(row.physical.live, 0);
	assert_int_equal(row.other, -512);
	records_nvml(r, 1, GMT_NVML_SAMPLE, GiB);
	assert_int_equal(row_of(r, 1).residual, 0);
	obtain(r, GMT_API_NONE, MiB, 0);
	obtain(r, GMT_API_cuCtxCreate_v2, MiB, 0);
	row = row_of(r, 1);
	assert_int_equal(row.other, MiB - 512);
	assert_int_equal(row.context, MiB);
	records_exit(r, 0);
	assert_int_equal(row_of(r, 1).at_nvml.before_attach, GiB);
}

static void a_late_attach_adds_up(void **state)
{
	struct records *r = *state;

	r->tgid = 200; /* whose client and devices nobody saw */
	records_attach(r, false);
	records_nvml(r, 1, GMT_NVML_BASELINE, GiB);
	obtain(r, GMT_API_cuMemAlloc_v2, 4 * MiB, A);
	CALL(r, cuMemAlloc_v2, A, 4 * MiB);
	records_nvml(r, 1, GMT_NVML_SAMPLE, GiB + 4 * MiB);
	struct view_row row = row_of(r, 1);

	assert_int_equal(row.nvml_baseline, GiB);
	assert_int_equal(row.before_attach, GiB);
	assert_int_equal(row.residual, 0);
	assert_false(row.before_inferred);
	/* An object that nobody saw allocated is freed: NVML says how big it was. */
	records_rm_free(r, 0x5c000777);
	records_nvml(r, 1, GMT_NVML_SAMPLE, GiB - 100 * MiB);
	row = row_of(r, 1);
	assert_int_equal(row.before_attach, GiB - 104 * MiB);
	assert_true(row.before_inferred);
	assert_int_equal(row.residual, 0);
}

static void what_was_traced_before_the_baseline_is_not_counted_twice(void **state)
{
	struct records *r = *state;

	r->tgid = 200;
	records_rm_scene(r);
	records_attach(r, false);
	obtain(r, GMT_API_cuMemAlloc_v2, 4 * MiB, A);
	records_nvml(r, 1, GMT_NVML_BASELINE, GiB);
	struct view_row row = row_of(r, 1);

	assert_int_equal(row.before_attach, GiB - 4 * MiB);
	assert_int_equal(row.residual, 0);
}

/* NVML counts memory as soon as the driver has the memory; the record comes when the call returns. */
static void what_was_underway_at_the_baseline_is_not_counted_twice(void **state)
{
	struct records *r = *state;

	r->tgid = 200;
	records_rm_scene(r);
	records_attach(r, false);
	records_nvml(r, 1, GMT_NVML_BASELINE, GiB);
	obtain(r, GMT_API_cuMemAlloc_v2, 4 * MiB, A);
	assert_int_equal(row_of(r, 1).before_attach, GiB);
	records_nvml(r, 1, GMT_NVML_BASELINE, GiB);
	assert_int_equal(row_of(r, 1).before_attach, GiB - 4 * MiB);
	records_nvml(r, 1, GMT_NVML_BASELINE, GiB);
	/* Two baselines agree: what no record explains from now on is residual. */
	records_nvml(r, 1, GMT_NVML_BASELINE, GiB - MiB);
	struct view_row row = row_of(r, 1);

	assert_int_equal(row.nvml_baseline, GiB);
	assert_int_equal(row.before_attach, GiB - 4 * MiB);
	assert_int_equal(row.residual, -(int64_t)MiB);
}

static void the_residual_is_of_nvmls_own_moment(void **state)
{
	struct records *r = *state;

	obtain(r, GMT_API_cuMemAlloc_v2, 4 * MiB, A);
	records_nvml(r, 1, GMT_NVML_SAMPLE, 4 * MiB);
	obtain(r, GMT_API_cuMemAlloc_v2, 64 * MiB, B);
	struct view_row row = row_of(r, 1);

	assert_int_equal(row.physical.live, 68 * MiB);
	assert_int_equal(row.residual, 0);
	assert_int_equal(row.nvml, 4 * MiB);
	assert_int_equal(row.nvml_ts_ns + 3, r->ts_ns); /* the memory, its mapping, and what is next */
}

static void the_sum_outlives_the_process(void **state)
{
	struct records *r = *state;

	obtain(r, GMT_API_cuDevicePrimaryCtxRetain, 500 * MiB, 0);
	obtain(r, GMT_API_cuMemAlloc_v2, 4 * MiB, A);
	CALL(r, cuMemAlloc_v2, A, 4 * MiB);
	records_nvml(r, 1, GMT_NVML_SAMPLE, 504 * MiB);
	records_exit(r, 0);
	struct view_row row = row_of(r, 1);

	/* What it held at its end, too. */
	assert_int_equal(row.physical.live, 504 * MiB);
	assert_int_equal(row.by_purpose[GMT_PURPOSE_CONTEXT], 500 * MiB);
	assert_int_equal(row.attributed.live, 4 * MiB);
	assert_int_equal(row.at_nvml.by_class[GMT_CLASS_DEVICE], 4 * MiB);
	assert_int_equal(row.at_nvml.attributed, 4 * MiB);
	assert_int_equal(row.at_nvml.context, 500 * MiB);
}

/* The record of the second end is older than the first view, and comes after the view. */
static void each_end_is_in_one_view(void **state)
{
	struct records *r = *state;
	struct view_request request = { 0 };
	struct view view;

	r->tgid = r->tid = 201;
	CALL(r, cuMemAlloc_v2, A, MiB);
	records_exit(r, 0);
	r->ts_ns += 1000;
	records_nvml(r, 1, GMT_NVML_SAMPLE, MiB);
	view_build(r->pipeline, &request, &view);
	assert_int_equal(view.proc_count, 2);
	assert_true(view.procs[1].exited);
	assert_int_equal(view.ends, 1);
	request.ends = view.ends;
	view_free(&view);
	r->ts_ns -= 1000;
	r->tgid = r->tid = 100;
	records_exit(r, 0);
	view_build(r->pipeline, &request, &view);
	assert_int_equal(view.proc_count, 1);
	assert_int_equal(view.procs[0].tgid, 100);
	assert_int_equal(view.ended.count, 1);
	request.ends = view.ends;
	view_free(&view);
	view_build(r->pipeline, &request, &view);
	assert_int_equal(view.proc_count, 0);
	assert_int_equal(view.ended.count, 2);
	view_free(&view);
}

static void from_the_start_there_is_nothing_before(void **state)
{
	struct records *r = *state;

	records_nvml(r, 1, GMT_NVML_BASELINE, 3 * MiB);
	struct view_row row = row_of(r, 1);

	assert_int_equal(row.nvml_baseline, 0);
	assert_int_equal(row.before_attach, 0);
	assert_int_equal(row.residual, 3 * MiB);
}

static void physical_memory_peaks_and_goes(void **state)
{
	struct records *r = *state;
	uint32_t object = obtain(r, GMT_API_cuMemAlloc_v2, 4 * MiB, A);
	uint64_t ts = r->ts_ns - 2;

	records_rm_free(r, object);
	struct view_row row = row_of(r, 1);

	assert_int_equal(row.physical.live, 0);
	assert_int_equal(row.physical.peak, 4 * MiB);
	assert_int_equal(row.physical.peak_ts_ns, ts);
}

static void memory_of_a_device_without_a_gpu_moves_when_it_gets_one(void **state)
{
	struct records *r = *state;
	struct gmt_rm_alloc device = {
		.client = RM_CLIENT, .parent = RM_CLIENT, .object = 0x5c000900, .class_id = 0x80, .device_id = 7,
	};
	struct gmt_rm_alloc memory = {
		.client = RM_CLIENT, .parent = 0x5c000900, .object = 0x5c000901, .class_id = 0x40, .size = MiB,
	};

	records_apply(r, &device, GMT_KIND_RM_ALLOC, sizeof(device));
	records_apply(r, &memory, GMT_KIND_RM_ALLOC, sizeof(memory));
	assert_int_equal(row_of(r, NO_GPU).physical.live, MiB);
	records_rm_map(r, 0, A, MiB, 0x5c000901);
	assert_int_equal(row_of(r, 0).physical.live, MiB);
	assert_int_equal(row_of(r, 0).physical.peak, MiB);
	struct view_row row;

	assert_false(records_row(r, NO_GPU, &row));
}

static void odd_kernel_records_are_counted(void **state)
{
	struct records *r = *state;

	r->tgid = 200; /* nothing is known of its client */
	records_attach(r, false);
	records_rm_free(r, 0x5c000777);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_RM_FREE_UNKNOWN), 1);
	r->tgid = 100;
	records_rm_memory(r, 1, MiB);
	r->object--;
	records_rm_memory(r, 1, 2 * MiB); /* the same handle */
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_RM_DOUBLE_ALLOC), 1);
	assert_int_equal(row_of(r, 1).physical.live, 2 * MiB);
}

static int api_scene(void **state)
{
	static struct records r;

	records_scene(&r, API_LAYER | GMT_LAYER_NVML);
	CALL(&r, cuDevicePrimaryCtxRetain, CTX0, 0);
	CALL(&r, cuCtxSetCurrent, CTX0);
	*state = &r;
	return 0;
}

static void without_the_kernel_layer_the_residual_holds_the_context(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAlloc_v2, A, 4 * MiB);
	records_nvml(r, 1, GMT_NVML_SAMPLE, 504 * MiB);
	struct view_row row = row_of(r, 1);

	assert_false(row.has_physical);
	assert_int_equal(row.residual, 500 * MiB);
	assert_int_equal(row.context, 0);
}

static void without_the_kernel_layer_unknown_frees_lower_what_was_before(void **state)
{
	struct records *r = *state;

	r->tgid = 200;
	records_attach(r, false);
	records_nvml(r, 1, GMT_NVML_BASELINE, GiB);
	CALL(r, cuMemAlloc_v2, A, 4 * MiB);
	RELEASE(r, cuMemFree_v2, B);
	records_nvml(r, 1, GMT_NVML_SAMPLE, 900 * MiB + 4 * MiB);
	struct view_row row = row_of(r, 1);

	assert_int_equal(row.before_attach, 900 * MiB);
	assert_true(row.before_inferred);
	assert_int_equal(row.residual, 0);
}

/* ---- the rest of the view ---- */

static void gpus_are_in_nvidia_smis_order(void **state)
{
	struct records *r = *state;
	struct gmt_nvml stray = { .used_bytes = MiB, .uuid = { 0xde, 0xad } };
	struct view view;

	records_gpu(r, 3, GMT_GPU_MIG); /* of GPU 0: its parent_index is 0 */
	records_gpu(r, 2, 0);
	records_nvml(r, 2, GMT_NVML_SAMPLE, MiB);
	records_nvml(r, 0, GMT_NVML_SAMPLE, MiB);
	records_apply(r, &stray, GMT_KIND_NVML, sizeof(stray));
	view_build(r->pipeline, NULL, &view);
	assert_int_equal(view.gpu_count, 5);
	assert_int_equal(view.gpus[0].index, 0);
	assert_int_equal(view.gpus[1].index, 3);
	assert_int_equal(view.gpus[2].index, 1);
	assert_int_equal(view.gpus[3].index, 2);
	assert_int_equal(view.gpus[4].index, UINT32_MAX);
	assert_string_equal(view.gpus[0].uuid_text, "GPU-a0b0c0d0-e0f0-0010-2030-405060708090");
	assert_string_equal(view.gpus[1].uuid_text, "MIG-a3b3c3d3-e3f3-0313-2333-435363738393");
	assert_string_equal(view.gpus[4].uuid_text, "GPU-dead0000-0000-0000-0000-000000000000");
	assert_string_equal(view.gpus[0].name, "GPU");
	assert_int_equal(view.gpus[0].total_bytes, 80 * GiB);
	assert_int_equal(view.procs[0].row_count, 3);
	assert_int_equal(view.procs[0].rows[0].gpu, 0);
	assert_int_equal(view.procs[0].rows[1].gpu, 3);
	assert_int_equal(view.procs[0].rows[2].gpu, 4);
	view_free(&view);
}

/* Somebody may hold memory whom NVML does not list. */
static void a_gpu_has_its_own_numbers(void **state)
{
	struct records *r = *state;
	struct gmt_gpu_memory memory = { .used_bytes = 3 * GiB, .free_bytes = 77 * GiB, .processes_bytes = GiB };
	struct gmt_gpu_memory stray = { .used_bytes = MiB, .uuid = { 0xde, 0xad } };
	struct view view;

	records_uuid(1, memory.uuid);
	records_apply(r, &memory, GMT_KIND_GPU_MEMORY, sizeof(memory));
	records_apply(r, &stray, GMT_KIND_GPU_MEMORY, sizeof(stray));
	view_build(r->pipeline, NULL, &view);
	assert_int_equal(view.gpu_count, 2);
	assert_false(view.gpus[0].has_memory);
	assert_true(view.gpus[1].has_memory);
	assert_int_equal(view.gpus[1].used_bytes, 3 * GiB);
	assert_int_equal(view.gpus[1].free_bytes, 77 * GiB);
	assert_int_equal(view.gpus[1].processes_bytes, GiB);
	view_free(&view);
}

/* Also a record of a newer version, which has more members. */
static void a_gpu_has_neighbours(void **state)
{
	struct records *r = *state;
	struct view view;

	records_gpu_memory(r, 1, GiB, 70 * GiB);
	records_neighbour(r, 1, 301, 2 * GiB, "ollama");
	records_neighbour(r, 1, 302, 40 * GiB, "sixteen bytes 16");
	records_neighbour(r, 1, 303, GiB, "");
	records_neighbour(r, 1, 301, 3 * GiB, "ollama");
	records_neighbour(r, 1, 303, 0, "");
	records_neighbour(r, 0, 302, 5 * GiB, "other");
	records_neighbour(r, 1, r->tgid, GiB, "traced");
	records_more_neighbours(r, 1, 4, 7 * MiB);
	CALL(r, cuMemAlloc_v2, A, MiB);
	view_build(r->pipeline, NULL, &view);
	assert_int_equal(view.gpus[1].neighbour_count, 2);
	assert_int_equal(view.gpus[1].neighbours[0].tgid, 302);
	assert_int_equal(view.gpus[1].neighbours[0].bytes, 40 * GiB);
	assert_string_equal(view.gpus[1].neighbours[0].comm, "sixteen bytes 16");
	assert_int_equal(view.gpus[1].neighbours[1].tgid, 301);
	assert_int_equal(view.gpus[1].neighbours[1].bytes, 3 * GiB);
	assert_int_equal(view.gpus[1].more_neighbours, 4);
	assert_int_equal(view.gpus[1].more_bytes, 7 * MiB);
	/* NVML told nothing of that GPU's memory as a whole, so its moment is not known. */
	assert_int_equal(view.gpus[0].neighbour_count, 0);
	view_free(&view);
}

/* A list that is full takes no more, and counts what it did not take; what goes makes room. */
static void neighbours_are_bounded(void **state)
{
	struct records *r = *state;
	struct view view;

	records_gpu_memory(r, 1, GiB, 70 * GiB);
	for (uint32_t i = 0; i < GMT_NEIGHBOURS_MAX + 3; i++)
		records_neighbour(r, 1, 1000 + i, (i + 1) * MiB, "many");
	records_neighbour(r, 1, 1000, 0, "many");
	records_neighbour(r, 1, 2000, GiB, "late");
	records_more_neighbours(r, 1, 4, 7 * MiB);
	records_more_neighbours(r, 1, 0, 0);
	view_build(r->pipeline, NULL, &view);
	assert_int_equal(view.gpus[1].neighbour_count, GMT_NEIGHBOURS_MAX);
	assert_int_equal(view.gpus[1].neighbours[0].tgid, 2000);
	assert_int_equal(view.gpus[1].neighbours[GMT_NEIGHBOURS_MAX - 1].bytes, 2 * MiB);
	assert_int_equal(view.gpus[1].more_neighbours, 0);
	assert_int_equal(view.records_malformed, 3);
	view_free(&view);
}

static void the_unknown_gpu_is_the_last_row(void **state)
{
	struct records *r = *state;
	struct view view;

	r->tid = 101;
	CALL(r, cuMemAlloc_v2, A, MiB);
	r->tid = 100;
	CALL(r, cuMemAlloc_v2, B, MiB);
	view_build(r->pipeline, NULL, &view);
	assert_int_equal(view.procs[0].row_count, 2);
	assert_int_equal(view.procs[0].rows[0].gpu, 1);
	assert_int_equal(view.procs[0].rows[1].gpu, VIEW_GPU_UNKNOWN);
	assert_int_equal(view.anomalies[GMT_ANOMALY_GPU_UNKNOWN], 1);
	assert_int_equal(view.procs[0].anomalies[GMT_ANOMALY_GPU_UNKNOWN], 1);
	view_free(&view);
}

static void the_session(void **state)
{
	struct records *r = *state;
	struct gmt_end end = { .reason = 2 };
	struct view view;

	view_build(r->pipeline, NULL, &view);
	assert_int_equal(view.end_reason, UINT32_MAX);
	assert_int_equal(view.start_ns, 1000);
	assert_int_equal(view.wall_start_ns, 1700000000000000000);
	assert_string_equal((const char *)view.session.driver, "580.159.04");
	view_free(&view);
	records_apply(r, &end, GMT_KIND_END, sizeof(end));
	view_build(r->pipeline, NULL, &view);
	assert_int_equal(view.end_reason, 2);
	assert_int_equal(view.now_ns, r->ts_ns - 1);
	assert_int_equal(view.records, r->ts_ns - 1000);
	view_free(&view);
}

static void an_empty_ledger_has_an_empty_view(void **state)
{
	struct pipeline *pipeline = pipeline_new(NULL);
	struct view view;

	(void)state;
	view_build(pipeline, NULL, &view);
	assert_int_equal(view.proc_count, 0);
	assert_int_equal(view.gpu_count, 0);
	assert_int_equal(view_lost(&view), 0);
	view_free(&view);
	pipeline_free(pipeline);
	pipeline_free(NULL);
}

/* How often a process has met it, by what became of it: a second word about one request does not count twice. */
static void counted_by_outcome(void **state)
{
	struct records *r = *state;
	struct view view;

	FAIL(r, cuMemAlloc_v2, GMT_CUDA_OUT_OF_MEMORY, 0, GiB);
	CALL(r, cuMemAlloc_v2, A, GiB);
	FAIL(r, cuMemAlloc_v2, GMT_CUDA_OUT_OF_MEMORY, 0, GiB);
	r->ts_ns += OOM_SILENCE_NS;
	CALL(r, cuCtxSetCurrent, 0xc0);
	view_build(r->pipeline, NULL, &view);
	assert_int_equal(view.procs[0].ooms[GMT_OOM_RETRY], 1);
	assert_int_equal(view.procs[0].ooms[GMT_OOM_RAISED], 1);
	assert_int_equal(view.procs[0].ooms[GMT_OOM_FATAL], 0);
	view_free(&view);
	records_exit(r, 256);
	view_build(r->pipeline, NULL, &view);
	assert_int_equal(view.procs[0].ooms[GMT_OOM_RAISED], 0);
	assert_int_equal(view.procs[0].ooms[GMT_OOM_FATAL], 1);
	assert_int_equal(view.procs[0].host_ooms[GMT_OOM_FATAL], 0);
	view_free(&view);
}

static void memory_of_the_host_is_counted_apart(void **state)
{
	struct records *r = *state;
	struct view view;

	FAIL(r, cuMemHostAlloc, GMT_CUDA_OUT_OF_MEMORY, 0, GiB, 0);
	r->ts_ns += OOM_SILENCE_NS;
	CALL(r, cuCtxSetCurrent, 0xc0);
	records_exit(r, 256);                     /* a second word about the request */
	view_build(r->pipeline, NULL, &view);
	for (int i = 0; i < GMT_OOM_OUTCOME_COUNT; i++)
		assert_int_equal(view.procs[0].host_ooms[i], view.procs[0].ooms[i]);
	assert_int_equal(view.procs[0].host_ooms[GMT_OOM_FATAL], 1);
	view_free(&view);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scene, records_end_scene)
#define API_TEST(f) cmocka_unit_test_setup_teardown(f, api_scene, records_end_scene)

/* The request whose reason a view has; 0: none. */
static uint32_t explained(const struct records *r, uint64_t age_ns)
{
	struct view_request request = { .why_age_ns = age_ns };
	struct view view;
	uint32_t number;

	view_build(r->pipeline, &request, &view);
	number = view.procs[0].why ? view.procs[0].why->number : 0;
	view_free(&view);
	return number;
}

/* A process whose requests fail again and again: who looks often may have the reason of an earlier request. */
static void reasons_may_be_old(void **state)
{
	struct records *r = *state;
	struct gmt_fw_oom report = { .size = GiB, .device_type = GMT_FW_GPU };

	for (uint32_t number = 1; number <= 20; number++) {
		FAIL(r, cuMemAlloc_v2, GMT_CUDA_OUT_OF_MEMORY, 0, GiB);
		records_apply(r, &report, GMT_KIND_FW_OOM, sizeof(report));
		r->ts_ns += S;
		CALL(r, cuMemGetInfo_v2, GiB, GiB);
		assert_int_equal(explained(r, 9 * S), number < 10 ? 1 : number < 19 ? 10 : 19);
	}
	assert_int_equal(explained(r, 0), 20);
	assert_int_equal(explained(r, 9 * S), 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_gpu_has_cudas_number_also_after_the_end),
		TEST(a_job_from_its_start),
		TEST(a_residual_is_shown),
		TEST(small_allocations_come_out_of_the_contexts_blocks),
		TEST(small_allocations_of_a_late_attach_come_out_of_what_was_before),
		TEST(a_late_attach_adds_up),
		TEST(what_was_traced_before_the_baseline_is_not_counted_twice),
		TEST(what_was_underway_at_the_baseline_is_not_counted_twice),
		TEST(the_residual_is_of_nvmls_own_moment),
		TEST(the_sum_outlives_the_process),
		TEST(each_end_is_in_one_view),
		TEST(from_the_start_there_is_nothing_before),
		TEST(physical_memory_peaks_and_goes),
		TEST(memory_of_a_device_without_a_gpu_moves_when_it_gets_one),
		TEST(odd_kernel_records_are_counted),
		API_TEST(counted_by_outcome),
		API_TEST(reasons_may_be_old),
		API_TEST(memory_of_the_host_is_counted_apart),
		API_TEST(without_the_kernel_layer_the_residual_holds_the_context),
		API_TEST(without_the_kernel_layer_unknown_frees_lower_what_was_before),
		API_TEST(gpus_are_in_nvidia_smis_order),
		API_TEST(a_gpu_has_its_own_numbers),
		API_TEST(a_gpu_has_neighbours),
		API_TEST(neighbours_are_bounded),
		API_TEST(the_unknown_gpu_is_the_last_row),
		API_TEST(the_session),
		cmocka_unit_test(an_empty_ledger_has_an_empty_view),
	};

	return cmocka_run_group_tests_name("view", tests, NULL, NULL);
}
