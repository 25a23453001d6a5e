// SPDX-License-Identifier: BSD-2-Clause
#include "core/view/view_filter.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/framework/framework.h"

bool view_wants_process(const struct view_request *request, uint32_t tgid)
{
	for (size_t i = 0; i < request->pid_count; i++)
		if ((uint32_t)request->pids[i] == tgid)
			return true;
	return !request->pid_count;
}

/* "1": nvidia-smi's number, also of the GPU of a MIG instance. Else the beginning of a UUID, as nvidia-smi takes it. */
bool view_wants_gpu(const struct view_request *request, const struct view *view, int gpu)
{
	const char *wanted = request->gpu;
	const struct view_gpu *g;

	if (!wanted)
		return true;
	if (gpu < 0)
		return false;
	g = &view->gpus[gpu];
	if (strspn(wanted, "0123456789") == strlen(wanted))
		return (g->flags & GMT_GPU_MIG ? g->parent_index : g->index) == strtoul(wanted, NULL, 10);
	return !strncasecmp(g->uuid_text, wanted, strlen(wanted));
}

static void free_row(struct view_row *row)
{
	view_stacks_free(&row->stacks);
	view_stacks_free(&row->torch.stacks);
	view_timeline_free(row->timeline);
	framework_training_free(&row->torch.training);
}

static void leave_process(struct view_proc *proc)
{
	for (size_t i = 0; i < proc->row_count; i++)
		free_row(&proc->rows[i]);
	view_stacks_free(&proc->host_stacks);
	free(proc->why);
	free(proc->rows);
}

/* Peaks of several rows need not be of one moment: then the sum is an upper limit, without a time. */
static void join_class(struct view_class *sum, const struct view_class *row, bool is_first)
{
	struct view_level level = sum->bytes;

	if (is_first) {
		*sum = *row;
		return;
	}
	level.live += row->bytes.live;
	level.peak += row->bytes.peak;
	if (row->bytes.peak && sum->bytes.peak)
		level.peak_ts_ns = 0;
	else if (row->bytes.peak)
		level.peak_ts_ns = row->bytes.peak_ts_ns;
	sum->bytes = level;
	sum->live_count += row->live_count;
	sum->allocs += row->allocs;
	sum->frees += row->frees;
	sum->failed += row->failed;
	sum->alloc_bytes += row->alloc_bytes;
	sum->freed_bytes += row->freed_bytes;
}

static void filter_rows(const struct view *view, const struct view_request *request, struct view_proc *proc)
{
	size_t kept = 0;

	for (size_t i = 0; i < proc->row_count; i++) {
		if (view_wants_gpu(request, view, proc->rows[i].gpu))
			proc->rows[kept++] = proc->rows[i];
		else
			free_row(&proc->rows[i]);
	}
	proc->row_count = kept;
	memset(proc->by_class, 0, sizeof(proc->by_class));
	for (size_t i = 0; i < kept; i++)
		for (int c = 0; c < GMT_CLASS_COUNT; c++)
			join_class(&proc->by_class[c], &proc->rows[i].by_class[c], !i);
	view_stacks_free(&proc->host_stacks);
	proc->host_stacks = (struct view_stacks){ .since_ns = proc->host_stacks.since_ns };
}

void view_filter(struct view *view, const struct view_request *request)
{
	size_t kept = 0;

	if (!request->gpu && !request->pid_count)
		return;
	view->is_filtered = true;
	for (size_t i = 0; i < view->proc_count; i++) {
		struct view_proc *proc = &view->procs[i];
		bool is_wanted = view_wants_process(request, proc->tgid);

		if (is_wanted && request->gpu) {
			filter_rows(view, request, proc);
			is_wanted = proc->row_count;
		}
		if (is_wanted)
			view->procs[kept++] = *proc;
		else
			leave_process(proc);
	}
	view->proc_count = kept;
	view->ended = (struct view_ended){ 0 };
}
