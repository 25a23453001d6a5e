// SPDX-License-Identifier: BSD-2-Clause
/*
 * Writes one HTML file with what stands out, memory over time, and the report: no network, no other file. The numbers
 * stand in a script of type application/json (html_data.h); the scripts in page/ draw them.
 */
#include "base/out.h"
#include "sink/html/html_compare.h"
#include "sink/html/html_data.h"
#include "sink/html/html_page.h"
#include "sink/report/report.h"
#include "sink/sink.h"
#include "sink/text/redact.h"

extern const char html_report[], html_report_end[];

static void put_page(struct out *out, const struct view *view, const struct sink_opts *opts)
{
	const struct html_script script = { html_report, html_report_end };
	struct sink_opts plain = *opts;
	struct out report;

	plain.color = false;
	plain.columns = HTML_COLUMNS;
	out_init_mem(&report);
	report_print(&report, view, &plain);
	html_page_begin(out);
	html_page_text(out, "Report", &report, opts->redact);
	html_put_data(out, view, opts);
	html_page_end(out, &script);
}

static void write_page(struct out *out, const struct view *view, const struct sink_opts *opts)
{
	struct sink_opts hidden = *opts;
	struct view copy;

	if (!opts->redact) {
		put_page(out, view, opts);
		return;
	}
	redact_view(view, &copy);
	hidden.recording = hidden.dump = NULL;
	put_page(out, &copy, &hidden);
	redact_free(&copy);
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
		  " and paths, unless `--redact` is given. Of several recordings, and of `diff`, the page has the"
		  " tables, sorted, searched and filtered as you like. On paper a page is light and has its tables"
		  " whole. `-` is standard output; the report then goes to standard error.",
	.suffix = ".html",
	.wants = SINK_WANTS_BLOCKS | SINK_WANTS_TIMELINE | SINK_WANTS_LIVES | SINK_WANTS_INSTANTS,
	.ask = ask_single,
	.write = write_page,
	.write_diff = html_write_diff,
	.write_ranks = html_write_ranks,
};
