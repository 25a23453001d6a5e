// SPDX-License-Identifier: BSD-2-Clause
/*
 * Replays the call sequences of real GPU machines (tests/data, see its README) through the ledger. At each point that
 * the .expect file names the ledger must say what torch and nvidia-smi said there.
 *
 * The directory is $GMT_TEST_DATA, by default tests/data below the current directory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/pipeline/pipeline.h"
#include "core/rm/rm.h"
#include "core/view/view.h"
#include "source/reader.h"

#define MAX_GPUS 8

struct replay {
	struct reader *reader;
	size_t records;
	struct pipeline *pipeline;
	struct rm *rm;           /* the same kernel records once more: it answers for addresses */
	uint8_t uuids[MAX_GPUS][GMT_UUID_BYTES];
	int gpu_count;
};

struct expectation {
	size_t at;
	char what[16], of[48];
	long long value;
};

static void data_path(char *path, size_t size, const char *name, const char *suffix)
{
	const char *folder = getenv("GMT_TEST_DATA");

	snprintf(path, size, "%s/%s%s", folder ? folder : "tests/data", name, suffix);
}

static void replay_open(struct replay *r, const char *name)
{
	char path[512];

	*r = (struct replay){ .pipeline = pipeline_new(NULL), .rm = rm_new() };
	data_path(path, sizeof(path), name, ".gmt");
	if (reader_open(&r->reader, path))
		fail_msg("%s cannot be opened: run in the top directory or set GMT_TEST_DATA", path);
}

/* Frees it all; there must be nothing left to read, and nothing missing. */
static void replay_close(struct replay *r)
{
	assert_null(reader_next(r->reader));
	assert_int_equal(reader_status(r->reader)->end, READER_COMPLETE);
	reader_close(r->reader);
	pipeline_free(r->pipeline);
	rm_free(r->rm);
}

static int gpu_of_uuid(const struct replay *r, const uint8_t *uuid)
{
	for (int i = 0; i < r->gpu_count; i++)
		if (memcmp(r->uuids[i], uuid, GMT_UUID_BYTES) == 0)
			return i;
	return GPU_UNKNOWN;
}

static void apply_to_rm(struct replay *r, const struct gmt_hdr *hdr)
{
	struct rm_change change;
	const void *rec = hdr;

	switch (hdr->kind) {
	case GMT_KIND_GPU:
		assert_in_range(r->gpu_count, 0, MAX_GPUS - 1);
		memcpy(r->uuids[r->gpu_count++], ((const struct gmt_gpu *)rec)->uuid, GMT_UUID_BYTES);
		break;
	case GMT_KIND_RM_ALLOC:
		rm_alloc(r->rm, rec, GMT_PURPOSE_OTHER, &change);
		break;
	case GMT_KIND_RM_FREE:
		rm_release(r->rm, rec, &change);
		break;
	case GMT_KIND_RM_DUP:
		rm_dup(r->rm, rec);
		break;
	case GMT_KIND_UVM_VASPACE:
		rm_vaspace(r->rm, rec, gpu_of_uuid(r, ((const struct gmt_uvm_vaspace *)rec)->uuid));
		break;
	case GMT_KIND_UVM_MAP:
		rm_map(r->rm, rec, gpu_of_uuid(r, ((const struct gmt_uvm_map *)rec)->uuid));
		break;
	case GMT_KIND_UVM_UNMAP:
		rm_unmap(r->rm, rec, gpu_of_uuid(r, ((const struct gmt_uvm_unmap *)rec)->uuid));
		break;
	case GMT_KIND_UVM_FREE:
		rm_range_free(r->rm, rec);
		break;
	}
}

static void replay_until(struct replay *r, size_t records)
{
	for (; r->records < records; r->records++) {
		const struct gmt_hdr *hdr = reader_next(r->reader);

		assert_non_null(hdr);
		assert_int_equal(pipeline_apply(r->pipeline, hdr, hdr->size), 0);
		apply_to_rm(r, hdr);
	}
}

/* ---- what the view says, by the words of the .expect files ---- */

static const struct view_row *row_of(const struct view *view, const char *uuid)
{
	for (size_t p = 0; p < view->proc_count; p++) {
		for (size_t i = 0; i < view->procs[p].row_count; i++) {
			const struct view_row *row = &view->procs[p].rows[i];

			if (row->gpu != VIEW_GPU_UNKNOWN && strstr(view->gpus[row->gpu].uuid_text, uuid))
				return row;
		}
	}
	fail_msg("no row for GPU %s", uuid);
	return NULL;
}

static const struct view_class *class_of(const struct view *view, const char *name)
{
	assert_int_equal(view->proc_count, 1);
	for (int class = 0; class < GMT_CLASS_COUNT; class++)
		if (strcmp(gmt_class_name(class), name) == 0)
			return &view->procs[0].by_class[class];
	fail_msg("no class %s", name);
	return NULL;
}

static long long live(const struct view *view, const char *of)
{
	return class_of(view, of)->bytes.live;
}

static long long failed(const struct view *view, const char *of)
{
	return class_of(view, of)->failed;
}

static long long physical(const struct view *view, const char *of)
{
	assert_true(row_of(view, of)->has_physical);
	return row_of(view, of)->physical.live;
}

static long long residual(const struct view *view, const char *of)
{
	assert_true(row_of(view, of)->has_nvml);
	return row_of(view, of)->residual;
}

static long long anomaly(const struct view *view, const char *of)
{
	for (int i = 0; i < GMT_ANOMALY_COUNT; i++)
		if (strcmp(gmt_anomaly_name(i), of) == 0)
			return view->anomalies[i];
	fail_msg("no anomaly %s", of);
	return -1;
}

static long long lost(const struct view *view, const char *of)
{
	(void)of;
	return view_lost(view);
}

static const struct {
	const char *what;
	long long (*value)(const struct view *view, const char *of);
} subjects[] = {
	{ "live", live },         { "failed", failed },   { "physical", physical },
	{ "residual", residual }, { "anomaly", anomaly }, { "lost", lost },
};

static void check_address(struct replay *r, const struct expectation *e)
{
	int gpu = rm_gpu_of_address(r->rm, e->value);
	const char *hex = e->of;

	assert_in_range(gpu, 0, r->gpu_count - 1);
	for (int i = 0; i < GMT_UUID_BYTES; i++, hex += 2) {
		unsigned int byte = 0;

		hex += *hex == '-';
		assert_int_equal(sscanf(hex, "%2x", &byte), 1);
		if (byte != r->uuids[gpu][i])
			fail_msg("address %#llx does not lie on %s but on GPU %d", e->value, e->of, gpu);
	}
}

static void check_expectation(struct replay *r, const struct expectation *e, const char *line)
{
	struct view view;

	if (strcmp(e->what, "address") == 0) {
		check_address(r, e);
		return;
	}
	for (size_t i = 0; i < sizeof(subjects) / sizeof(*subjects); i++) {
		if (strcmp(subjects[i].what, e->what) != 0)
			continue;
		view_build(r->pipeline, NULL, &view);
		long long value = subjects[i].value(&view, e->of);
		view_free(&view);
		if (value != e->value)
			fail_msg("is %lld, should be: %s", value, line);
		return;
	}
	fail_msg("unknown word in: %s", line);
}

/* A view must balance at every point, whatever the stream: see the top of core/view/view.h. */
static void check_sums(const struct replay *r)
{
	struct view view;

	view_build(r->pipeline, NULL, &view);
	for (size_t p = 0; p < view.proc_count; p++) {
		for (size_t i = 0; i < view.procs[p].row_count; i++) {
			const struct view_row *row = &view.procs[p].rows[i];
			uint64_t sum = 0;

			for (int purpose = 0; purpose < GMT_PURPOSE_COUNT; purpose++)
				sum += row->by_purpose[purpose];
			assert_int_equal(sum, row->physical.live);
			assert_true(row->attributed.live <= row->attributed.peak);
			if (row->has_physical)
				assert_int_equal(row->context + row->modules + row->pool_reserve + row->rounding + row->other,
						 (int64_t)(row->physical.live - row->attributed.live));
		}
	}
	view_free(&view);
}

static void test_case(void **state)
{
	struct replay r;
	char line[512];
	size_t checked = 0;
	FILE *f;

	replay_open(&r, *state);
	data_path(line, sizeof(line), *state, ".expect");
	f = fopen(line, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		struct expectation e;

		if (line[0] == '#')
			continue;
		assert_int_equal(sscanf(line, "%zu %15s %47s %lli", &e.at, e.what, e.of, &e.value), 4);
		assert_in_range(e.at, r.records, SIZE_MAX);
		while (r.records < e.at) {
			replay_until(&r, r.records + 1);
			check_sums(&r);
		}
		check_expectation(&r, &e, line);
		checked++;
	}
	replay_until(&r, r.records + 1);   /* the end record */
	assert_in_range(checked, 4, SIZE_MAX);
	replay_close(&r);
	fclose(f);
}

#define CASE(name) { name, test_case, NULL, NULL, (void *)name }

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE("h100-native"),
		CASE("h100-malloc-async"),
		CASE("h100-expandable"),
		CASE("h100-expandable-late"),
		CASE("h200x2-ioctls-native"),
		CASE("h200x2-ioctls-expandable"),
	};

	return cmocka_run_group_tests_name("recordings", tests, NULL, NULL);
}
