// SPDX-License-Identifier: BSD-2-Clause
/*
 * Writes a trace for Perfetto (ui.perfetto.dev, trace_processor): memory over time as counters; iterations, phases and
 * failed requests as slices; and memory by stack trace as heap profiles.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/terms/oom_why.h"
#include "sink/perfetto/heap_samples.h"
#include "sink/perfetto/memory_tracks.h"
#include "sink/perfetto/trace_packet.h"
#include "sink/sink.h"
#include "sink/text/finding_text.h"
#include "sink/text/text.h"

#define NAME_BYTES 96

/* The process is the `life`th of its pid. Perfetto takes processes of one pid for one process. */
static unsigned int life_of(const struct view *view, size_t index)
{
	unsigned int life = 1;

	for (size_t i = 0; i < index; i++)
		life += view->procs[i].tgid == view->procs[index].tgid;
	return life;
}

static void name_part(char name[NAME_BYTES], const char *part, unsigned int life)
{
	if (life > 1)
		snprintf(name, NAME_BYTES, "%s (process %u of this pid)", part, life);
	else
		snprintf(name, NAME_BYTES, "%s", part);
}

static void name_gpu(char name[NAME_BYTES], const struct view *view, const struct view_row *row, unsigned int life)
{
	char gpu[48];

	snprintf(gpu, sizeof(gpu), "GPU %s", text_gpu(view, row->gpu).s);
	name_part(name, gpu, life);
}

/* ---- requests that failed ---- */

/* The series of the process that knows of most failed requests: all series that are there have a frame then. */
static const struct view_series *find_requests(const struct view_proc *proc)
{
	const struct view_series *best = NULL;
	uint32_t most = 0;

	for (size_t r = 0; r < proc->row_count; r++) {
		const struct view_series *s = proc->rows[r].timeline ? &proc->rows[r].timeline->calls : NULL;
		uint32_t count = 0;

		for (uint32_t i = 0; s && i < s->frame_count; i++)
			count += s->frames[i].why == SERIES_REQUEST;
		if (count > most) {
			most = count;
			best = s;
		}
	}
	return best;
}

static void put_why(struct trace_writer *w, uint64_t track, uint64_t ts_ns, const struct oom_why *why)
{
	struct out line;
	char *text;

	out_init_mem(&line);
	finding_text_why(&line, why, 1);
	text = out_take(&line);
	trace_instant(w, track, ts_ns, text);
	free(text);
}

/* Of the newest request that failed for good, the reason is known, if any picture was taken. */
static void show_requests(struct trace_writer *w, uint64_t process_track, const struct view_proc *proc)
{
	const struct view_series *s = find_requests(proc);
	const struct oom_why *why = proc->why;
	uint64_t track = 0;

	for (uint32_t i = 0; s && i < s->frame_count; i++) {
		uint64_t ts_ns = s->frames[i].ts_ns;

		if (s->frames[i].why != SERIES_REQUEST)
			continue;
		track = track ? track : trace_track(w, process_track, TRACE_SLICES, "failed requests");
		if (why && ts_ns >= why->first_ns && ts_ns <= why->last_ns)
			put_why(w, track, ts_ns, why);
		else
			trace_instant(w, track, ts_ns, "a request for memory failed");
	}
}

/* ---- processes ---- */

static void show_heaps(struct trace_writer *w, const struct view *view, const struct view_proc *proc, unsigned int life)
{
	uint64_t end_ns = proc->exited ? proc->exit_ts_ns : view->now_ns;
	char name[NAME_BYTES], tensors[NAME_BYTES + 16];

	for (size_t i = 0; i < proc->row_count; i++) {
		const struct view_row *row = &proc->rows[i];

		name_gpu(name, view, row, life);
		heap_samples(w, view, proc, &row->stacks, name, end_ns);
		snprintf(tensors, sizeof(tensors), "%s tensors", name);
		heap_samples(w, view, proc, &row->torch.stacks, tensors, end_ns);
	}
	name_part(name, "host", life);
	heap_samples(w, view, proc, &proc->host_stacks, name, end_ns);
}

static void show_process(struct trace_writer *w, const struct view *view, size_t index)
{
	const struct view_proc *proc = &view->procs[index];
	uint64_t track = trace_process_track(w, proc->tgid, proc->comm, w->redact ? "" : proc->cmdline);
	unsigned int life = life_of(view, index);
	char gpu[NAME_BYTES];

	show_requests(w, track, proc);
	for (size_t i = 0; i < proc->row_count; i++) {
		name_gpu(gpu, view, &proc->rows[i], life);
		if (proc->rows[i].timeline)
			memory_tracks(w, track, proc, &proc->rows[i], gpu);
	}
	show_heaps(w, view, proc, life);
}

static void write_trace(struct out *out, const struct view *view, const struct sink_opts *opts)
{
	struct trace_writer w;

	trace_begin(&w, out, opts->redact);
	trace_clocks(&w, view->start_ns, view->wall_start_ns);
	for (size_t i = 0; i < view->proc_count; i++)
		show_process(&w, view, i);
	trace_end(&w);
}

static const char *why_trace_is_empty(const struct view *view, const struct sink_opts *opts)
{
	(void)opts;
	return view->proc_count ? NULL : "no process was traced that uses CUDA";
}

static void ask_stacks(struct view_request *request, const struct sink_opts *opts)
{
	(void)opts;
	request->top = SIZE_MAX;
}

const struct sink sink_perfetto = {
	.name = "perfetto",
	.suffix = ".perfetto-trace",
	.other_suffix = ".pftrace",
	.help = "write a trace for ui.perfetto.dev; - is stdout",
	.manual = "At the end, write a trace (suffix `.perfetto-trace` or `.pftrace`) that https://ui.perfetto.dev and"
		  " trace_processor read: memory over time by what it is for, iterations, phases, failed"
		  " requests, and memory by stack trace at the peak and at the end; see `TRACES FOR PERFETTO`. While"
		  " tracing, this option implies `--block-stacks` and `--requested-sizes`. gpumemtrace writes the whole"
		  " file or no file. `-` is standard output; the report then goes to standard error.",
	.wants = SINK_WANTS_BLOCKS | SINK_WANTS_TIMELINE,
	.ask = ask_stacks,
	.why_empty = why_trace_is_empty,
	.write = write_trace,
};
