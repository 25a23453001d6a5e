// SPDX-License-Identifier: BSD-2-Clause
/*
 * Writes one HTML file with what stands out, memory over time, and the report: no network, no other file. The numbers
 * stand in a script of type application/json (html_data.h); the scripts in page/ draw them.
 */
#include "base/out.h"
#include "sink/html/html_compare.h"
#include "sink/html/html_data.h"
#include "sink/html/html_page.h"
#include "sink/oom/oom_sinks.h"
#include "sink/report/report.h"
#include "sink/sink.h"
#include "sink/text/redact.h"

extern const char html_report[], html_report_end[];

/* Takes the report's text. */
static void put_page(struct out *out, const struct view *view, struct out *report, bool is_dump,
		     const struct sink_opts *opts)
{
	const struct html_script script = { html_report, html_report_end };

	html_page_begin(out);
	html_page_text(out, "Report", report, opts->redact);
	html_put_data(out, view, is_dump, opts);
	html_page_end(out, &script);
}

static struct sink_opts page_opts(const struct sink_opts *opts)
{
	struct sink_opts plain = *opts;

	plain.color = false;
	plain.columns = HTML_COLUMNS;
	if (opts->redact)
		plain.recording = plain.dump = NULL;
	return plain;
}

static void write_page(struct out *out, const struct view *view, const struct sink_opts *opts)
{
	struct sink_opts plain = page_opts(opts);
	struct out report;
	struct view copy;

	if (opts->redact)
		redact_view(view, &copy);
	out_init_mem(&report);
	report_print(&report, opts->redact ? &copy : view, &plain);
	put_page(out, opts->redact ? &copy : view, &report, false, &plain);
	if (opts->redact)
		redact_free(&copy);
}

/* ---- of a dump ---- */

struct span {
	uint64_t first_ns, last_ns;
};

static void span_series(struct span *span, const struct view_series *s)
{
	if (!s->frame_count)
		return;
	if (s->frames[0].ts_ns < span->first_ns)
		span->first_ns = s->frames[0].ts_ns;
	if (s->frames[s->frame_count - 1].ts_ns > span->last_ns)
		span->last_ns = s->frames[s->frame_count - 1].ts_ns;
}

/* The page's time is that of the dump's window: the session may have run for days before. The record of a failure may
 * come after the picture. */
static void set_span(struct view *view)
{
	struct span span = { view->now_ns, view->now_ns };

	for (size_t i = 0; i < view->proc_count; i++)
		for (size_t k = 0; k < view->procs[i].row_count; k++) {
			const struct view_timeline *t = view->procs[i].rows[k].timeline;

			if (!t)
				continue;
			span_series(&span, &t->calls);
			span_series(&span, &t->blocks);
		}
	view->now_ns = span.last_ns;
	if (span.first_ns >= view->now_ns || span.first_ns < view->start_ns)
		return;
	view->wall_start_ns += view->wall_start_ns ? span.first_ns - view->start_ns : 0;
	view->start_ns = span.first_ns;
}

static void write_picture(struct out *out, const struct oom_view *picture, const struct sink_opts *opts)
{
	struct sink_opts plain = page_opts(opts);
	struct oom_view shown = *picture;
	struct out report;
	struct view copy;

	if (opts->redact)
		redact_view(&picture->view, &shown.view);
	out_init_mem(&report);
	oom_print(&report, &shown, &plain);
	copy = shown.view;
	set_span(&copy);
	put_page(out, &copy, &report, true, &plain);
	if (opts->redact)
		redact_free(&shown.view);
}

static void ask_single(struct view_request *request, const struct sink_opts *opts)
{
	(void)opts;
	request->lives = true;
	request->instants = true;
}

const struct sink sink_html = {
	.name = "html",
	.help = "write a page for a browser; - is stdout",
	.manual = "At the end, write one HTML file (suffix `.html`) for a browser, which needs no network and no other"
		  " file: what stands out, memory over time, or by iteration, by who holds it with the phases of a"
		  " training, since which iteration memory is kept, and the report. The page is exact at the peak, at"
		  " requests that failed, at marks and at the ends of iterations; between two of its moments, the"
		  " pointer shows the least and the most that can have been. Where no call was seen, it shows what the"
		  " kernel driver gave, or else nvidia-smi's number. Single allocations and tensors are in the page"
		  " around peaks, failed requests and marks, and the 1,000 largest; `--events` changes this. The"
		  " caching allocator's segments, with their blocks and the gaps between, are in the page when most was"
		  " held, at the last eight requests that failed, at the last eight marks, and at the end. While"
		  " tracing, this option implies `--block-stacks` and `--requested-sizes`. The page shows command lines"
		  " and paths, unless `--redact` is given. Of a dump, the page has the newest picture with its verdict,"
		  " and memory over time in the dump's window. Of several recordings, and of `diff`, the page has the"
		  " tables, sorted, searched and filtered as you like. On paper a page is light and has its tables"
		  " whole. `-` is standard output; the report then goes to standard error.",
	.suffix = ".html",
	.wants = SINK_WANTS_BLOCKS | SINK_WANTS_TIMELINE | SINK_WANTS_LIVES | SINK_WANTS_INSTANTS,
	.ask = ask_single,
	.write = write_page,
	.write_picture = write_picture,
	.write_diff = html_write_diff,
	.write_ranks = html_write_ranks,
};
