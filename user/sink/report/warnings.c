/* SPDX-License-Identifier: BSD-2-Clause */
/* What a reader must know before trusting the numbers. One line a fact; see report.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/out.h"
#include "sink/report/report.h"
#include "sink/sink.h"
#include "sink/text/text.h"

struct warnings {
	struct out *out;
	const struct sink_opts *opts;
	const char *end;
	unsigned lines;
};

__attribute__((format(printf, 3, 4)))
static void print_warning(struct warnings *w, enum text_style style, const char *format, ...)
{
	struct out line;
	va_list args;
	char *text;

	out_init_mem(&line);
	va_start(args, format);
	out_vprintf(&line, format, args);
	va_end(args);
	text = out_take(&line);
	text_line(w->out, w->opts, style, text);
	out_text(w->out, w->end);
	w->lines++;
	free(text);
}

static void warn_losses(struct warnings *w, const struct view *view)
{
	for (int i = 0; i < GMT_LOSS_COUNT; i++)
		if (view->loss[i])
			print_warning(w, TEXT_RED, "LOST    %s %s", human_count(view->loss[i]).s,
				      gmt_loss_text(i, view->loss[i]));
	if (view->records_malformed)
		print_warning(w, TEXT_RED, "LOST    %s malformed %s", human_count(view->records_malformed).s,
			      human_plural(view->records_malformed, "record", "records"));
	if (view->names_dropped)
		print_warning(w, TEXT_YELLOW, "note    %s %s dropped: there were too many names of stack traces",
			      human_count(view->names_dropped).s,
			      human_plural(view->names_dropped, "name was", "names were"));
	if (view->records_unknown)
		print_warning(w, TEXT_YELLOW, "note    %s %s that this version does not know",
			      human_count(view->records_unknown).s,
			      human_plural(view->records_unknown, "record of a kind", "records of kinds"));
}

static void warn_layers(struct warnings *w, const struct view *view)
{
	const struct gmt_session *s = &view->session;

	if (!s->hdr.size)
		return;   /* no session record: nothing is known about layers */
	if (!(s->layers & GMT_LAYER_API))
		print_warning(w, TEXT_YELLOW,
			      "note    the API layer was not active: CUDA calls were not traced, only the driver's"
			      " memory");
	if (!(s->layers & GMT_LAYER_KERNEL))
		print_warning(w, TEXT_YELLOW, "note    the kernel layer was not active: %.128s",
			      s->why_no_kernel[0] ? (const char *)s->why_no_kernel : "reason unknown");
	if (!(s->layers & GMT_LAYER_NVML))
		print_warning(w, TEXT_YELLOW, "note    NVML was not active: %.128s",
			      s->why_no_nvml[0] ? (const char *)s->why_no_nvml : "reason unknown");
}

static void warn_limits(struct warnings *w, const struct view *view)
{
	for (size_t i = 0; i < view->limits.count; i++)
		print_warning(w, TEXT_YELLOW, "note    %s: %s", view->limits.list[i].what, view->limits.list[i].why);
}

static void warn_anomalies(struct warnings *w, const struct view *view)
{
	for (int i = 0; i < GMT_ANOMALY_COUNT; i++) {
		uint64_t odd = text_odd(view, (enum gmt_anomaly)i);

		if (odd)
			print_warning(w, TEXT_YELLOW, "odd     %s %s", human_count(odd).s,
				      gmt_anomaly_text(i, odd));
	}
}

/* Where it is silent for all of them, one stands for the others. */
#define SILENT_MOST 3

static void warn_silent(struct warnings *w, const struct view *view)
{
	size_t count = 0;

	for (size_t i = 0; i < view->proc_count; i++) {
		const struct view_proc *p = &view->procs[i];

		if (p->torch_silence && count++ < SILENT_MOST)
			print_warning(w, TEXT_YELLOW, "note    process %u: PyTorch reports no blocks (%s); only driver"
				      " allocations are shown", p->tgid, gmt_torch_silence_text(p->torch_silence));
	}
	if (count > SILENT_MOST)
		print_warning(w, TEXT_YELLOW, "note    PyTorch reports no blocks in %zu more %s", count - SILENT_MOST,
			      human_plural(count - SILENT_MOST, "process", "processes"));
}

unsigned report_warnings(struct out *out, const struct view *view, const struct sink_opts *opts,
			 const char *end)
{
	struct warnings w = { .out = out, .opts = opts, .end = end };

	warn_losses(&w, view);
	for (size_t i = 0; i < opts->note_count; i++)
		print_warning(&w, TEXT_RED, "note    %s", opts->notes[i]);
	warn_anomalies(&w, view);
	warn_silent(&w, view);
	warn_layers(&w, view);
	warn_limits(&w, view);
	return w.lines;
}
