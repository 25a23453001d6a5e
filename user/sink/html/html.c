// SPDX-License-Identifier: BSD-2-Clause
/*
 * Writes one HTML file with what stands out, memory over time, and the report: no network, no other file. The numbers
 * stand in a script of type application/json (html_data.h); the scripts in page/ draw them.
 */
#include "base/out.h"
#include "sink/html/html_data.h"
#include "sink/html/html_text.h"
#include "sink/text/redact.h"
#include "sink/report/report.h"
#include "sink/sink.h"

#define COLUMNS 100                  /* of the report's text */

extern const char html_style[], html_style_end[], html_script[], html_script_end[];

static void put_report(struct out *out, const struct view *view, const struct sink_opts *opts)
{
	struct sink_opts plain = *opts;
	struct out report;

	plain.color = false;
	plain.columns = COLUMNS;
	out_init_mem(&report);
	report_print(&report, view, &plain);
	out_text(out, "<h2>Report</h2>\n<pre id=\"report\">");
	html_put_text(out, report.data ? report.data : "", report.size, opts->redact);
	out_text(out, "</pre>\n");
	out_close(&report);
}

static void put_page(struct out *out, const struct view *view, const struct sink_opts *opts)
{
	out_text(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
		      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		      "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
		      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		      "<title>gpumemtrace</title>\n<style>\n");
	out_bytes(out, html_style, (size_t)(html_style_end - html_style));
	out_text(out, "</style></head>\n<body>\n<main id=\"page\">\n");
	put_report(out, view, opts);
	out_text(out, "<noscript>A script in this file draws memory over time. Scripts are off.</noscript>\n</main>\n");
	html_put_data(out, view, opts);
	out_text(out, "<script>\n");
	out_bytes(out, html_script, (size_t)(html_script_end - html_script));
	out_text(out, "</script>\n</body></html>\n");
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

const struct sink sink_html = {
	.name = "html",
	.help = "write a page for a browser; - is stdout",
	.manual = "At the end, write one HTML file (suffix `.html`) for a browser, which needs no network and no"
		  " other file: what stands out, memory over time by who holds it, since which iteration memory is"
		  " kept, and the report. The page is exact"
		  " at requests that failed, at marks and at the ends of iterations; memory that came and went"
		  " between two moments of the page is in the report alone. While tracing, this option implies"
		  " `--block-stacks` and `--requested-sizes`. The page shows command lines and paths, unless"
		  " `--redact` is given. `-` is standard output; the report then goes to standard error.",
	.suffix = ".html",
	.wants = SINK_WANTS_BLOCKS | SINK_WANTS_TIMELINE,
	.write = write_page,
};
