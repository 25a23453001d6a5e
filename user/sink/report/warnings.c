/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints what a reader must know before trusting the numbers: one line for each fact. */
#include <inttypes.h>

#include "base/human.h"
#include "base/out.h"
#include "sink/report/report.h"
#include "sink/sink.h"
#include "sink/text/text.h"

#define LABEL_COLUMNS 8

/* Where the lines go, and how wide they are. */
struct warnings {
	struct out *out;
	const struct sink_opts *opts;
	unsigned columns;
};

#define FACT(label, style, ...)                                                                     \
	text_format(w->out, w->opts, style, &(struct text_place){ label, LABEL_COLUMNS, w->columns }, __VA_ARGS__)
#define LOST(...) FACT("LOST", TEXT_RED, __VA_ARGS__)
#define BELOW(...) FACT("", TEXT_RED, __VA_ARGS__)
#define NOTE(...) FACT("note", TEXT_YELLOW, __VA_ARGS__)

/* What to do, or what the loss means, where that is known. */
static const char *const loss_remedies[GMT_LOSS_COUNT] = {
	[GMT_LOSS_RING_FULL] = "use a larger --ring-size, or trace fewer processes",
	[GMT_LOSS_THREAD_STATE] = "trace fewer processes (-p in place of -a)",
	[GMT_LOSS_TARGET_MAP_FULL] = "trace fewer processes (-p in place of -a)",
	[GMT_LOSS_STACK_LOST] = "the memory is counted, but stands under no line",
	[GMT_LOSS_STACK_CUT] = "the memory is counted, and the outer frames are missing",
	[GMT_LOSS_FILE_REFUSED] = "the names and lines of these files are not known",
};

static void warn_losses(const struct warnings *w, const struct view *view)
{
	bool has_losses = false;

	for (int i = 0; i < GMT_LOSS_COUNT; i++) {
		if (!view->loss[i])
			continue;
		has_losses = true;
		LOST("%s %s", human_count(view->loss[i]).s, gmt_loss_text(i, view->loss[i]));
		if (loss_remedies[i])
			BELOW("%s", loss_remedies[i]);
	}
	/* The BPF programs have one counter for each cause. */
	if (has_losses)
		BELOW("these are counted for all traced processes together");
	if (view->records_malformed)
		LOST("%s malformed %s", human_count(view->records_malformed).s,
		     human_plural(view->records_malformed, "record", "records"));
	for (enum view_drop drop = 0; drop < VIEW_DROP_COUNT; drop++)
		if (view->dropped[drop])
			NOTE("%s %s", human_count(view->dropped[drop]).s, view_drop_text(drop, view->dropped[drop]));
	if (view->records_unknown)
		NOTE("%s %s that this version does not know", human_count(view->records_unknown).s,
		     human_plural(view->records_unknown, "record of a kind", "records of kinds"));
}

static void warn_layers(const struct warnings *w, const struct view *view)
{
	const struct gmt_session *s = &view->session;

	if (!s->hdr.size)
		return;   /* without a session record the layers are unknown */
	if (!(s->layers & GMT_LAYER_API))
		NOTE("the API layer was not active: CUDA calls were not traced, only the driver's memory");
	if (!(s->layers & GMT_LAYER_KERNEL))
		NOTE("the kernel layer was not active: %.128s",
		     s->why_no_kernel[0] ? (const char *)s->why_no_kernel : "reason unknown");
	if (!(s->layers & GMT_LAYER_NVML))
		NOTE("NVML was not active: %.128s",
		     s->why_no_nvml[0] ? (const char *)s->why_no_nvml : "reason unknown");
}

static void warn_anomalies(const struct warnings *w, const struct view *view)
{
	for (int i = 0; i < GMT_ANOMALY_COUNT; i++) {
		uint64_t odd = text_odd(view, (enum gmt_anomaly)i);

		if (odd)
			FACT("odd", TEXT_YELLOW, "%s %s", human_count(odd).s, gmt_anomaly_text(i, odd));
	}
}

/* PyTorch may be silent in each of many processes: a few lines stand for all. */
#define SILENT_MOST 3

static void warn_silent(const struct warnings *w, const struct view *view)
{
	size_t count = 0;

	for (size_t i = 0; i < view->proc_count; i++) {
		const struct view_proc *p = &view->procs[i];

		if (p->torch_silence && count++ < SILENT_MOST)
			NOTE("process %u: PyTorch reports no blocks (%s); only driver allocations are shown", p->tgid,
			     gmt_torch_silence_text(p->torch_silence));
	}
	if (count > SILENT_MOST)
		NOTE("PyTorch reports no blocks in %zu more %s", count - SILENT_MOST,
		     human_plural(count - SILENT_MOST, "process", "processes"));
}

/* Memory over time has a bound. */
static void warn_timelines(const struct warnings *w, const struct view *view)
{
	if (view->timelines_dropped)
		NOTE("%" PRIu64 " %s ended long ago: what %s over time had no room any longer", view->timelines_dropped,
		     human_plural(view->timelines_dropped, "process", "processes"),
		     human_plural(view->timelines_dropped, "it held", "they held"));
	if (view->timelines_are_coarse)
		NOTE("memory over time is coarser than usual: gpumemtrace's own memory was short (--memory)");
	if (view->timelines_unseen)
		NOTE("memory over time of %" PRIu64 " %s is missing, or a part of it: too many processes use GPUs"
		     " at once", view->timelines_unseen, human_plural(view->timelines_unseen, "process", "processes"));
}

void report_warnings(struct out *out, const struct view *view, const struct sink_opts *opts, unsigned columns)
{
	const struct warnings warnings = { out, opts, columns }, *w = &warnings;

	warn_losses(w, view);
	for (size_t i = 0; i < opts->note_count; i++)
		FACT("note", TEXT_RED, "%s", opts->notes[i]);
	warn_anomalies(w, view);
	warn_silent(w, view);
	warn_timelines(w, view);
	warn_layers(w, view);
	for (size_t i = 0; i < view->limits.count; i++)
		NOTE("%s: %s", view->limits.list[i].what, view->limits.list[i].why);
}
