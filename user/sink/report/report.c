/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints the report at the end, the text that goes into tickets. Each process has its facts, for each of its GPUs the
 * column that adds up (sum.c) and a table of allocations, then host memory. Everything that is missing or odd comes
 * last. The report says what is not known.
 */
#include "sink/report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "base/human.h"
#include "base/out.h"
#include "sink/sink.h"
#include "sink/text/text.h"

/* ---- head ---- */

static void print_head(struct out *out, const struct view *view, const struct sink_opts *opts)
{
	const struct gmt_session *s = &view->session;
	const struct text_place place = { "", 0, TEXT_COLUMNS };
	struct out line;

	out_init_mem(&line);
	out_printf(&line, "gpumemtrace %.32s",
		   s->version[0] ? (const char *)s->version : "(session unknown)");
	if (s->host[0])
		out_printf(&line, " on %.64s", s->host);
	if (s->kernel[0])
		out_printf(&line, ", Linux %.64s", s->kernel);
	if (s->driver[0])
		out_printf(&line, ", NVIDIA driver %.64s", s->driver);
	text_item(out, opts, TEXT_BOLD, &place, &line);
	if (view->wall_start_ns)
		out_printf(out, "%s UTC, ", human_wall(view->wall_start_ns, "%Y-%m-%d %H:%M:%S").s);
	out_printf(out, "%s, %s\n", human_duration(view->now_ns - view->start_ns).s,
		   view->end_reason == UINT32_MAX ? "the recording has no end" : gmt_end_text(view->end_reason));
	out_printf(out, "layers: %s; %s %s\n", text_layers(s->layers).s, human_count(view->records).s,
		   human_plural(view->records, "record", "records"));
}

#define BUILD_ID_COLUMNS 16

static void print_library(struct out *out, const struct gmt_library *lib)
{
	out_text(out, "library: ");
	human_print(out, sizeof(lib->path), (const char *)lib->path, sizeof(lib->path));
	out_printf(out, ", %u %s", lib->probes, human_plural(lib->probes, "probe", "probes"));
	if (lib->absent)
		out_printf(out, ", %u %s missing", lib->absent, human_plural(lib->absent, "function", "functions"));
	if (lib->build_id[0]) {
		out_text(out, ", build id ");
		human_print(out, BUILD_ID_COLUMNS, (const char *)lib->build_id, BUILD_ID_COLUMNS);
	}
	out_char(out, '\n');
}

static bool is_used_gpu(const struct view *view, int gpu)
{
	for (size_t i = 0; i < view->proc_count; i++)
		for (size_t k = 0; k < view->procs[i].row_count; k++)
			if (view->procs[i].rows[k].gpu == gpu)
				return true;
	return false;
}

/* What is beyond the processes is the driver's own, or held by nobody whom NVML lists. */
static void print_gpu_memory(struct out *out, const struct view *view, int gpu)
{
	const struct view_gpu *g = &view->gpus[gpu];

	if (!g->has_memory || g->index == UINT32_MAX || !is_used_gpu(view, gpu))
		return;
	out_printf(out, "%s %s: %s used", g->flags & GMT_GPU_MIG ? "MIG" : "GPU", text_gpu(view, gpu).s,
		   human_bytes(g->used_bytes).s);
	out_printf(out, " (%s by the processes that NVML lists),", human_bytes(g->processes_bytes).s);
	out_printf(out, " %s free\n", human_bytes(g->free_bytes).s);
}

/* ---- a process ---- */

static void process_head(struct out *out, const struct view *view, const struct view_proc *proc,
			 const struct sink_opts *opts)
{
	const char *name = proc->cmdline[0] ? proc->cmdline : proc->comm;
	char cgroup[160];
	struct out line;

	text_format(out, opts, TEXT_BOLD, NULL, "process %u  %s", proc->tgid, name[0] ? name : "(name unknown)");
	out_init_mem(&line);
	out_printf(&line, "  uid %u", proc->uid);
	if (proc->ns_pid && proc->ns_pid != proc->tgid)
		out_printf(&line, ", pid %u in its namespace", proc->ns_pid);
	text_cgroup(proc->cgroup, cgroup, sizeof(cgroup));
	if (cgroup[0])
		out_printf(&line, ", %s", cgroup);
	text_line(out, opts, TEXT_PLAIN, &line);
	if (proc->from_start)
		out_text(out, "  traced from its first use of a GPU");
	else
		out_printf(out, "  attached at %s, while it was running",
			   text_when(view, proc->attach_ts_ns).s);
	if (proc->exited)
		out_printf(out, "; %s at %s (%s)", text_exit(proc->exit_code).s, text_when(view, proc->exit_ts_ns).s,
			   text_offset(view, proc->exit_ts_ns).s);
	out_char(out, '\n');
	if (proc->window_ns > proc->attach_ts_ns)
		out_printf(out, "  peaks and growth since the mark at %s (%s)\n", text_when(view, proc->window_ns).s,
			   text_offset(view, proc->window_ns).s);
}

static void gpu_head(struct out *out, const struct view *view, const struct view_row *row,
		     const struct sink_opts *opts)
{
	const struct view_gpu *g = row->gpu >= 0 ? &view->gpus[row->gpu] : NULL;
	struct out line;

	out_char(out, '\n');
	out_init_mem(&line);
	if (!g) {
		out_text(&line, "  GPU unknown  the GPU of these allocations could not be determined");
	} else {
		out_printf(&line, "  %s %s", g->flags & GMT_GPU_MIG ? "MIG" : "GPU",
			   g->index == UINT32_MAX ? "not listed by the driver" : text_gpu(view, row->gpu).s);
		if (g->name[0])
			out_printf(&line, "  %.96s", g->name);
		if (g->uuid_text[0])
			out_printf(&line, "  %.48s", g->uuid_text);
		if (g->pci[0])
			out_printf(&line, "  %.32s", g->pci);
		if (g->total_bytes)
			out_printf(&line, "  %s", human_bytes(g->total_bytes).s);
		if (text_ordinal(view, row).s[0])
			out_printf(&line, "  %s", text_ordinal(view, row).s);
	}
	text_line(out, opts, TEXT_BOLD, &line);
}

/* ---- the table of classes: 80 columns ---- */

#define TABLE_LABEL 18
#define TABLE_WHEN 16

static void table_head(struct out *out, const struct view_proc *proc)
{
	out_printf(out, "    %-*s%9s%7s%9s %-*s%8s%8s\n", TABLE_LABEL, "", proc->exited ? "AT END" : "LIVE",
		   "COUNT", "PEAK", TABLE_WHEN, "PEAK AT", "ALLOCS", "FREES");
}

/* The first half of a line. Returns the width of the peak's time. */
static int print_level(struct out *out, const struct view *view, const char *label, const struct view_level *bytes,
		       const char *count)
{
	char when[64] = "-";

	if (bytes->peak && view->wall_start_ns)
		snprintf(when, sizeof(when), "%s %s", text_clock(view, bytes->peak_ts_ns).s,
			 text_offset(view, bytes->peak_ts_ns).s);
	else if (bytes->peak)
		snprintf(when, sizeof(when), "%s", text_offset(view, bytes->peak_ts_ns).s);
	out_printf(out, "    %-*s%9s%7s%9s %s", TABLE_LABEL, label, human_bytes(bytes->live).s, count,
		   human_bytes(bytes->peak).s, when);
	return (int)strlen(when);
}

static void print_counts(struct out *out, int when, uint64_t allocs, uint64_t frees, uint64_t failed)
{
	out_pad(out, TABLE_WHEN - when);
	out_printf(out, " %7s", human_count(allocs).s);
	out_printf(out, " %7s", human_count(frees).s);
	if (failed)
		out_printf(out, "  %s failed", human_count(failed).s);
	out_char(out, '\n');
}

static bool class_used(const struct view_class *class)
{
	return class->allocs || class->frees || class->failed || class->bytes.peak;
}

static bool any_class(const struct view_class *by_class)
{
	for (int c = 0; c < GMT_CLASS_COUNT; c++)
		if (class_used(&by_class[c]))
			return true;
	return false;
}

static void class_line(struct out *out, const struct view *view, enum gmt_class class,
		       const struct view_class *c)
{
	int when = print_level(out, view, gmt_class_text(class), &c->bytes, human_count(c->live_count).s);

	print_counts(out, when, c->allocs, c->frees, c->failed);
}

static int framework_level(struct out *out, const struct view *view, const struct view_torch *t, const char *what,
			   const struct view_level *level, const char *count)
{
	char label[32];

	snprintf(label, sizeof(label), "%s %s", gmt_framework_text(t->framework), what);
	return print_level(out, view, label, level, count);
}

/* How a framework's allocator uses its part of the memory above. */
static void torch_lines(struct out *out, const struct view *view, const struct view_torch *t)
{
	uint64_t cached = view_torch_cached(t);
	int when;

	framework_level(out, view, t, "reserved", &t->reserved, t->segments ? human_count(t->segments).s : "");
	if (t->backend)
		out_printf(out, "  from %s", gmt_torch_backend_text(t->backend));
	out_char(out, '\n');
	when = framework_level(out, view, t, "allocated", &t->allocated, human_count(t->blocks).s);
	print_counts(out, when, t->allocs, t->frees, 0);
	out_printf(out, "      %-*s%9s", TABLE_LABEL - 2, "cached, free", human_bytes(cached).s);
	if (cached && t->gap_known)
		out_printf(out, "  largest piece %s", human_bytes(t->largest_free_gap).s);
	out_char(out, '\n');
	if (t->sized) {
		out_printf(out, "      %-*s%9s", TABLE_LABEL - 2, "block rounding",
			   human_bytes(t->sized_bytes - t->asked_bytes).s);
		out_printf(out, "%7s  %s, %s requested\n", human_count(t->sized).s,
			   human_plural(t->sized, "block", "blocks"), human_bytes(t->asked_bytes).s);
	}
}

static void row_table(struct out *out, const struct view *view, const struct view_proc *proc,
		      const struct view_row *row)
{
	struct text_sum sum;
	int device_classes = 0;

	text_sum(row, &sum);
	if (!row->attributed.peak && !row->has_physical && !any_class(row->by_class) && !row->torch.seen)
		return;
	table_head(out, proc);
	for (int c = 0; c < GMT_CLASS_COUNT; c++) {
		if (!class_used(&row->by_class[c]))
			continue;
		device_classes += gmt_class_is_device((enum gmt_class)c);
		class_line(out, view, (enum gmt_class)c, &row->by_class[c]);
	}
	if (device_classes > 1) {
		int when =
			print_level(out, view, "all device calls", &row->attributed, human_count(sum.live_count).s);

		print_counts(out, when, sum.allocs, sum.frees, sum.failed);
	}
	if (row->has_physical && (row->physical.peak || row->gpu >= 0)) {
		print_level(out, view, "physical", &row->physical, "");
		out_char(out, '\n');
	}
	if (row->torch.seen)
		torch_lines(out, view, &row->torch);
	if (row->imported_physical)
		out_printf(out, "    %-*s%9s  belongs to other processes, not counted here\n", TABLE_LABEL,
			   "imported physical", human_bytes(row->imported_physical).s);
}

/* Prints the classes of memory that belong to no GPU, so that no row shows these classes. */
static void host_table(struct out *out, const struct view *view, const struct view_proc *proc)
{
	bool any = false;

	for (int c = 0; c < GMT_CLASS_COUNT; c++) {
		bool in_row = gmt_class_is_device((enum gmt_class)c) && proc->row_count;

		for (size_t r = 0; r < proc->row_count; r++)
			in_row |= class_used(&proc->rows[r].by_class[c]);
		if (in_row || !class_used(&proc->by_class[c]))
			continue;
		if (!any) {
			out_text(out, "\n  host and managed memory\n");
			table_head(out, proc);
		}
		any = true;
		class_line(out, view, (enum gmt_class)c, &proc->by_class[c]);
		/* UVM moves managed memory by itself: gpumemtrace/nv.h says why nobody sees where it lies. */
		if (c == GMT_CLASS_MANAGED)
			out_printf(out, "      how much of it lies on a GPU is unknown; %s\n",
				   "the GPU's lines and NVML leave it out");
	}
}

static void process_anomalies(struct out *out, const struct view_proc *proc)
{
	const char *lead = "\n";

	for (int i = 0; i < GMT_ANOMALY_COUNT; i++) {
		if (!proc->anomalies[i])
			continue;
		if (text_is_expected(proc, (enum gmt_anomaly)i))
			out_printf(out, "%s  %s %s: allocated before the attach\n", lead,
				   human_count(proc->anomalies[i]).s,
				   gmt_anomaly_text(i, proc->anomalies[i]));
		else
			out_printf(out, "%s  odd: %s %s\n", lead, human_count(proc->anomalies[i]).s,
				   gmt_anomaly_text(i, proc->anomalies[i]));
		lead = "";
	}
}

/* How often memory ran out, by outcome. */
static void process_ooms(struct out *out, const struct view_proc *proc)
{
	static const struct {
		enum gmt_oom_outcome outcome;
		const char *one, *many;
	} outcomes[] = {
		{ GMT_OOM_FATAL, "fatal", "fatal" },
		{ GMT_OOM_RAISED, "raised as an error", "raised as errors" },
		{ GMT_OOM_RETRY, "satisfied by a retry", "satisfied by a retry" },
	};
	const char *lead = "\n  requests that ran out of memory: ";

	for (size_t i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++) {
		uint64_t count = proc->ooms[outcomes[i].outcome];

		if (!count)
			continue;
		out_printf(out, "%s%s %s", lead, human_count(count).s,
			   human_plural(count, outcomes[i].one, outcomes[i].many));
		lead = ", ";
	}
	if (lead[0] == ',')
		out_text(out, " ('gpumemtrace oom' explains them, from a recording or a dump)\n");
}

/* Processes that ended long ago. */
static void print_ended(struct out *out, const struct view *view)
{
	static const struct view_proc ended = { .exited = true };
	const struct view_ended *e = &view->ended;
	bool any = false;

	if (!e->count)
		return;
	out_printf(out, "\n%s more %s earlier; only sums are kept of %s\n", human_count(e->count).s,
		   human_plural(e->count, "process ended", "processes ended"), human_plural(e->count, "it", "them"));
	for (int c = 0; c < GMT_CLASS_COUNT; c++) {
		if (!class_used(&e->by_class[c]))
			continue;
		if (!any)
			table_head(out, &ended);
		any = true;
		class_line(out, view, (enum gmt_class)c, &e->by_class[c]);
	}
}

static void print_process(struct out *out, const struct view *view, const struct view_proc *proc,
			  const struct sink_opts *opts, struct report_numbers *numbers)
{
	out_char(out, '\n');
	process_head(out, view, proc, opts);
	if (!proc->row_count)
		out_text(out, "  used no GPU memory\n");
	for (size_t r = 0; r < proc->row_count; r++) {
		gpu_head(out, view, &proc->rows[r], opts);
		if (proc->rows[r].gpu >= 0)
			report_sum(out, view, proc, &proc->rows[r]);
		row_table(out, view, proc, &proc->rows[r]);
		report_stacks(out, view, proc, &proc->rows[r].stacks, &proc->rows[r], opts, numbers);
		report_training(out, &proc->rows[r].torch, proc->exited);
		if (view_has_stacks(&proc->rows[r].torch.stacks))
			out_printf(out, "\n    %s's blocks", gmt_framework_text(proc->rows[r].torch.framework));
		report_stacks(out, view, proc, &proc->rows[r].torch.stacks, NULL, opts, numbers);
	}
	host_table(out, view, proc);
	report_stacks(out, view, proc, &proc->host_stacks, NULL, opts, numbers);
	report_unwinding(out, &proc->unwinding);
	process_ooms(out, proc);
	process_anomalies(out, proc);
}

/* ---- the whole ---- */

static void quiet_processes(struct out *out, const struct view *view)
{
	size_t quiet = 0;

	for (size_t i = 0; i < view->proc_count; i++)
		quiet += !view->procs[i].row_count;
	if (quiet)
		out_printf(out, "\n%zu more %s used no GPU memory\n", quiet,
			   human_plural(quiet, "process", "processes"));
}

static void print_tables(struct out *out, const struct view *view, const struct sink_opts *opts)
{
	struct report_numbers numbers = { .of_stack = xcalloc(view->stack_count, sizeof(*numbers.of_stack)) };

	for (size_t i = 0; i < view->library_count; i++)
		print_library(out, &view->libraries[i]);
	if (view->libraries_forgotten)
		out_printf(out, "library: %s more are not listed\n",
			   human_count(view->libraries_forgotten).s);
	for (size_t i = 0; i < view->gpu_count; i++)
		print_gpu_memory(out, view, (int)i);
	for (size_t i = 0; i < view->proc_count; i++)
		if (view->procs[i].row_count || view->proc_count == 1)
			print_process(out, view, &view->procs[i], opts, &numbers);
	if (view->proc_count > 1)
		quiet_processes(out, view);
	print_ended(out, view);
	out_char(out, '\n');
	free(numbers.of_stack);
}

void report_print(struct out *out, const struct view *view, const struct sink_opts *opts)
{
	bool has_more = report_answer(out, view, opts);

	if (view->proc_count)
		out_char(out, '\n');
	print_head(out, view, opts);
	if (!view->proc_count)
		out_text(out, "\nno process was traced\n");
	if (opts->full)
		print_tables(out, view, opts);
	report_warnings(out, view, opts, TEXT_COLUMNS);
	if (!view_lost(view) && !opts->note_count)
		out_text(out, "nothing was lost\n");
	report_next(out, view, opts, has_more);
}
