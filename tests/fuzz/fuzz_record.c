// SPDX-License-Identifier: BSD-2-Clause
/*
 * Any records in any order: the ledger must not crash, and what it shows must add up.
 *
 * The input is a byte about all of it, and a list of records (make_records.h).
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gpumemtrace/wire.h>

#include "../unit/history/viewer.h"
#include "core/history/history.h"
#include "core/history/history_dump.h"
#include "core/ledger/ledger.h"
#include "core/pipeline/pipeline.h"
#include "core/oom/oom_requests.h"
#include "core/view/oom_view.h"
#include "core/view/view.h"
#include "make_records.h"

/* The first byte: which of `mosts` the history keeps, and who reads its dump; half of all records are a window's. */
enum { ALL_KEEPS = 3, ALL_KEEPS_AGAIN = 12, ALL_WINDOW = 16 };

/* Events: what wraps soon, and what grows and is far from full. */
static const uint64_t mosts[] = { 1, 30, 200, 200000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "does not hold: %s\n", what);
		abort();
	}
}

static void check_torch(const struct view_torch *t)
{
	must(t->allocated.peak >= t->allocated.live && t->reserved.peak >= t->reserved.live, "PyTorch's peaks");
	must(t->blocks <= t->allocs, "no more blocks than were allocated");
	must(!t->blocks == !t->block_bytes && !t->segments == !t->segment_bytes, "counts go with bytes");
	if (!t->gap_known)
		return;
	must(t->block_bytes == t->allocated.live && t->segment_bytes == t->reserved.live, "all is known");
	must(t->largest_free_gap <= t->reserved.live, "no gap is larger than what there is");
}

/* Whatever the records said, no byte is lost between the sum and its owners. */
static void check_stacks(const struct view_stacks *stacks)
{
	uint64_t live = 0, at_peak = 0;

	for (size_t i = 0; i < stacks->owner_count; i++) {
		live += stacks->owners[i].held.live;
		at_peak += stacks->owners[i].held.at_peak;
	}
	must(live == stacks->live, "owners add up to what lives");
	must(at_peak == stacks->peak, "owners add up to the peak");
}

static void check_row(const struct view_row *row)
{
	const uint64_t *by = row->by_purpose;
	uint64_t sum = 0, called = by[GMT_PURPOSE_ALLOC] + by[GMT_PURPOSE_POOL] + by[GMT_PURPOSE_VMM] + by[GMT_PURPOSE_IMPORT];
	int64_t named = row->context + row->modules + row->pool_reserve + row->rounding + row->other;

	for (int i = 0; i < GMT_PURPOSE_COUNT; i++)
		sum += row->by_purpose[i];
	if (row->gpu != VIEW_GPU_UNKNOWN)
		check_torch(&row->torch);
	must(row->attributed.peak >= row->attributed.live, "attributed peak is not below live");
	check_stacks(&row->stacks);
	if (!row->has_physical) {
		must(row->stacks.live >= row->attributed.live, "calls are booked by stack");
		return;
	}
	must(row->stacks.live == row->attributed.live + sum - called, "stacks are calls and what no call explains");
	must(sum == row->physical.live, "purposes add up to the physical bytes");
	must(row->physical.peak >= row->physical.live, "physical peak is not below live");
	/* The parts are as if what a checkpoint has parked were still on the GPU. */
	must((uint64_t)named == row->physical.live + row->checkpointed - row->attributed.live, "the named parts add up");
}

static void check(const struct pipeline *pipeline)
{
	static const struct view_request request = { .top = 4, .ages = true };
	struct view view;

	view_build(pipeline, &request, &view);
	for (size_t p = 0; p < view.proc_count; p++) {
		check_stacks(&view.procs[p].host_stacks);
		for (size_t r = 0; r < view.procs[p].row_count; r++)
			check_row(&view.procs[p].rows[r]);
	}
	view_free(&view);
}

static void check_snapshots(const struct history *history)
{
	for (uint32_t i = 0; i < history->process_count; i++) {
		struct snapshot snapshot;
		const char *wrong;

		snapshot_build(history, i, &snapshot);
		wrong = viewer_problem(&snapshot);
		must(!wrong, wrong);
		snapshot_free(&snapshot);
	}
}

/* As a dump, and read again: nothing of it is refused. */
struct dump {
	struct pipeline *pipeline;
};

static void read_again(void *arg, const void *record, size_t size)
{
	struct dump *d = arg;
	const struct gmt_hdr *hdr = record;
	struct gmt_attach attach = { .hdr = { .size = sizeof(attach), .kind = GMT_KIND_ATTACH, .tgid = hdr->tgid } };

	pipeline_apply(d->pipeline, &attach, sizeof(attach));
	must(!pipeline_apply(d->pipeline, record, size), "a dump is well-formed");
}

static void check_dump(const struct history *history, uint64_t until, uint64_t most)
{
	struct dump d = { pipeline_new(&(struct pipeline_options){ .history_events = most }) };

	history_dump_put(history_dump_begin(history, until, NULL), read_again, &d);
	check_snapshots(d.pipeline->history);
	pipeline_free(d.pipeline);
}

/* A request that could not be met, seen or read; NULL is none. */
static void check_oom(const struct pipeline *pipeline, struct oom *oom)
{
	struct view_request request = { .top = 3 };
	struct oom_view view;

	if (!oom)
		return;
	oom_view_build(pipeline, oom, &request, &view);
	oom_view_free(&view);
	oom_free(oom);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	uint8_t all = byte(&in);
	struct pipeline *pipeline = pipeline_new(&(struct pipeline_options){ .history_events = mosts[all & ALL_KEEPS] });
	const struct history *history = pipeline->history;
	uint64_t ts_ns = 1000, again = mosts[(all & ALL_KEEPS_AGAIN) >> 2];
	unsigned int mode;
	union record rec;

	while ((size = make_record(&in, all & ALL_WINDOW, &rec, &ts_ns, &mode))) {
		pipeline_apply(pipeline, &rec, size);
		if (mode & MODE_VIEW)
			check(pipeline);
		check_oom(pipeline, ooms_take(pipeline->ooms));
	}
	check(pipeline);
	check_snapshots(history);
	check_dump(history, history->next, again);
	check_dump(history, history->first + (history->next - history->first) / 2, again);
	check_oom(pipeline, ooms_picture(pipeline->ooms));
	ooms_finish(pipeline->ooms);
	check_oom(pipeline, ooms_take(pipeline->ooms));
	pipeline_free(pipeline);
	return 0;
}
