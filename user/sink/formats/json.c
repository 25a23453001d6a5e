/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes JSON lines to standard output: an object for each live view, report, failed request or record. */
#include "base/js.h"
#include "sink/compare/diff_names.h"
#include "sink/compare/ranks_sinks.h"
#include "sink/formats/processes.h"
#include "sink/json/json_view.h"
#include "sink/oom/oom_sinks.h"
#include "sink/records/record_text.h"
#include "sink/report/report.h"
#include "sink/sink.h"

static void print_json_live(struct out *out, const struct view *now, const struct view *previous,
			    const struct sink_opts *opts)
{
	(void)previous;
	json_view_write(out, now, opts, "live", json_null());
}

static void print_json_report(struct out *out, const struct view *view, const struct sink_opts *opts)
{
	json_view_write(out, view, opts, "report", json_null());
}

const struct sink sink_json = {
	.name = "json",
	.help = "print JSON lines, not text, or write them to FILE",
	.manual = "Print JSON lines instead of text, or write them to *FILE*, which is emptied first; see `JSON`."
		  " `--` *COMMAND* has the same standard output as the lines: then there are no live lines, unless"
		  " `--live` is given. With *FILE* there are live lines.",
	.is_data = true,
	.live = print_json_live,
	.report = print_json_report,
	.oom = oom_print_json,
	.diff = diff_print_json,
	.ranks = ranks_print_json,
	.record = record_print_json,
	.doctor = doctor_print_json,
	.list = list_print_json,
	.processes = processes_print_json,
};
