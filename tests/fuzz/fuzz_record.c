// SPDX-License-Identifier: BSD-2-Clause
/*
 * Any records in any order: the ledger must not crash, and what it shows must add up.
 *
 * The input is a byte about all of it, and a list of records, each {kind, mode, ...}. In raw mode the
 * record's bytes follow. Else it is built from a few bytes, its numbers out of a small set: so frees meet
 * allocations, ranges overlap and handles are used again.
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
#include "core/terms/probes.h"
#include "core/view/view.h"

#define X(name, value, type, text) { value, sizeof(struct type) },
static const struct { uint16_t kind, size; } kinds[] = { GMT_KINDS(X) };
#undef X

enum {
	MODE_RAW = 1, MODE_SHORT = 2, MODE_LONG = 4, MODE_ODD_KIND = 8, MODE_VIEW = 16, /* raw but for VIEW */
	MODE_UNDO = 2, MODE_FAILED = 4, MODE_UNREAD = 8,
};

/* The first byte: which of `mosts` the history keeps, and who reads its dump; half of all records are a window's. */
enum { ALL_KEEPS = 3, ALL_KEEPS_AGAIN = 12, ALL_WINDOW = 16 };

/* Events: what wraps soon, and what grows and is far from full. */
static const uint64_t mosts[] = { 1, 30, 200, 200000 };

struct input {
	const uint8_t *data;
	size_t size;
};

union record {
	uint64_t words[512];
	struct gmt_hdr hdr;
	struct gmt_call call;
	struct gmt_rm_alloc rm_alloc;
	struct gmt_uvm_map uvm_map;
	struct gmt_uvm_unmap uvm_unmap;
	struct gmt_uvm_free uvm_free;
	struct gmt_nvml nvml;
	struct gmt_fw_mem fw_mem;
	struct gmt_fw_oom fw_oom;
	struct gmt_fw_range fw_range;
	struct gmt_history_event event;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t byte(struct input *in)
{
	return in->size ? (in->size--, *in->data++) : 0;
}

/* A size or an address. */
static uint64_t number(struct input *in)
{
	uint8_t b = byte(in);

	if (b < 64)
		return (uint64_t)b << 9;
	if (b < 224)
		return (uint64_t)(b & 31) << 21;
	return b < 248 ? UINT64_MAX >> (b & 7) * 8 : b & 7;
}

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
	must((uint64_t)named == row->physical.live - row->attributed.live, "the named parts add up");
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

/* Calls, or records of windows, are the half of all. */
static unsigned int choose(uint8_t byte, bool window)
{
	static const unsigned int windows = GMT_KIND_HISTORY_MARK - GMT_KIND_HISTORY + 1;
	unsigned int first = 0;

	if (!(byte & 1))
		return (byte >> 1) % (sizeof(kinds) / sizeof(kinds[0]));
	while (window && kinds[first].kind != GMT_KIND_HISTORY)
		first++;
	return window ? first + (byte >> 1) % windows : 0;
}

static size_t raw(struct input *in, union record *rec, unsigned int which, unsigned int mode)
{
	size_t size = kinds[which].size, have;

	if (mode & MODE_SHORT)
		size -= 8;
	if (mode & MODE_LONG)
		size += 8 * (mode >> 5);
	have = in->size < size ? in->size : size;
	memcpy(rec, in->data, have);
	in->data += have;
	in->size -= have;
	rec->hdr.size = size;
	rec->hdr.kind = kinds[which].kind + (mode & MODE_ODD_KIND ? 0x100 : 0);
	return size;
}

static void build_call(struct input *in, struct gmt_call *call, unsigned int mode)
{
	const struct gmt_probe *probe;

	call->api = byte(in) % GMT_API_MAX;
	probe = &gmt_probes[call->api];
	if (probe->flags & GMT_API_RELEASE)
		call->phase = mode & MODE_UNDO ? GMT_PHASE_UNDO : GMT_PHASE_ENTER;
	call->rc = mode & MODE_FAILED && call->phase != GMT_PHASE_ENTER ? 2 : 0;
	call->unread = mode & MODE_UNREAD ? byte(in) : 0;
	call->seq = byte(in) & 7;
	call->stack_id = call->seq & 3;
	for (unsigned int i = 0; i < probe->count; i++)
		call->vals[i] = number(in);
	call->hdr.size = sizeof(*call) + 8 * probe->count;
}

static void build_rm(struct input *in, union record *rec)
{
	/* Memory, the clients, a device, a VA space (class numbers: NVIDIA/open-gpu-kernel-modules). */
	static const uint32_t classes[] = { 0x40, 0x40, 0x40, 0x41, 0x80, 0x90f1, 0x3e, 0x00 };
	struct gmt_rm_alloc *rm = &rec->rm_alloc;

	switch (rec->hdr.kind) {
	case GMT_KIND_RM_ALLOC:
		rm->cause.api = byte(in) % GMT_API_MAX;
		rm->class_id = classes[byte(in) & 7];
		rm->status = rm->status == 7;
		rm->attr = rm->attr == 7 ? 1 << 25 : 0;
		rm->flags = rm->flags == 7 ? 1 << 19 : 0;
		rm->size = number(in);
		break;
	case GMT_KIND_UVM_MAP:
		rec->uvm_map.base = number(in);
		rec->uvm_map.length = number(in);
		break;
	case GMT_KIND_UVM_UNMAP:
		rec->uvm_unmap.base = number(in);
		rec->uvm_unmap.length = number(in);
		break;
	case GMT_KIND_UVM_FREE:
		rec->uvm_free.base = number(in);
		break;
	case GMT_KIND_FW_MEM:
		rec->fw_mem.ptr = number(in);
		rec->fw_mem.delta = byte(in) & 1 ? (int64_t)number(in) : -(int64_t)number(in);
		rec->fw_mem.total_allocated = number(in);
		rec->fw_mem.total_reserved = number(in);
		rec->fw_mem.flags = byte(in) & GMT_FW_NO_TOTALS;
		rec->fw_mem.device_type = byte(in) & 1 ? GMT_FW_GPU : GMT_FW_BY_ADDRESS;
		rec->fw_mem.device_index = byte(in) & 3;
		break;
	case GMT_KIND_FW_RANGE:
		rec->fw_range.object = byte(in) & 7;
		rec->fw_range.what = byte(in) & 3;
		snprintf((char *)rec->fw_range.name, sizeof(rec->fw_range.name), "%s%u",
			 byte(in) & 1 ? "Optimizer.step#" : "range ", byte(in));
		break;
	case GMT_KIND_FW_OOM:
		rec->fw_oom.size = number(in);
		rec->fw_oom.device_type = GMT_FW_GPU;
		rec->fw_oom.device_index = byte(in) & 3;
		break;
	case GMT_KIND_HISTORY:
	case GMT_KIND_HISTORY_UNSEEN:
	case GMT_KIND_HISTORY_MARK:
		break;
	case GMT_KIND_HISTORY_RANGE:
	case GMT_KIND_HISTORY_EVENT:
		rec->event.address = number(in);
		rec->event.size = number(in);
		break;
	case GMT_KIND_NVML:
		rec->nvml.used_bytes = number(in);
		rec->nvml.when &= 1;
		break;
	}
}

static size_t build(struct input *in, union record *rec, unsigned int which, unsigned int mode, uint64_t *ts_ns)
{
	uint32_t *body = (uint32_t *)(&rec->hdr + 1);
	uint8_t who = byte(in);

	*ts_ns += who;
	rec->hdr = (struct gmt_hdr){ .size = kinds[which].size, .kind = kinds[which].kind, .tgid = 1 + (who & 1),
		.tid = 1 + (who >> 1 & 3), .ts_ns = *ts_ns };
	if (rec->hdr.kind == GMT_KIND_CALL) {
		build_call(in, &rec->call, mode);
		return rec->hdr.size;
	}
	/* Text is left empty; of the rest a byte fills two numbers. */
	for (size_t i = 0; i < 20 && 4 * i < rec->hdr.size - sizeof(rec->hdr); i += 2) {
		body[i] = byte(in);
		body[i + 1] = body[i] >> 4 & 7;
		body[i] &= 7;
	}
	build_rm(in, rec);
	return rec->hdr.size;
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

	while (in.size >= 2) {
		unsigned int which = choose(byte(&in), all & ALL_WINDOW), mode = byte(&in);
		union record rec = { 0 };

		size = mode & MODE_RAW ? raw(&in, &rec, which, mode) : build(&in, &rec, which, mode, &ts_ns);
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
