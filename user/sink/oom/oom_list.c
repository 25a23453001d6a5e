// SPDX-License-Identifier: BSD-2-Clause
/*
 * Lists failed requests, one in a line: when, who, where, how much, the cause in a word, and the file.
 *
 *     TIME (UTC)             PID  PROCESS                GPU     ASKED  CAUSE            FILE
 *     2026-02-03 10:16:12   4242  python train.py        0     256 KiB  leak             gpumemtrace-oom-....gmt
 */
#include <string.h>

#include "base/human.h"
#include "base/out.h"
#include "sink/oom/oom_sinks.h"
#include "sink/sink.h"
#include "sink/text/text.h"

#define NAME_COLUMNS 22
#define CAUSE_COLUMNS 16
#define FILE_COLUMNS 200

static void print_asker(struct out *out, const struct oom_view *v)
{
	unsigned used = 0;

	if (!v->rec.hdr.tgid) {
		out_printf(out, "%10s  %-*s", "-", NAME_COLUMNS + 2, "all processes");
		return;
	}
	out_printf(out, "%10u  ", v->rec.hdr.tgid);
	if (v->proc != OOM_VIEW_NONE)
		used = text_command(out, NAME_COLUMNS, &v->view.procs[v->proc]);
	out_pad(out, (int)(NAME_COLUMNS + 2 - used));
}

void oom_print_row(struct out *out, const struct oom_view *v, const struct sink_opts *opts)
{
	const struct view *view = &v->view;
	uint64_t at_ns = v->rec.first_ns ? v->rec.first_ns : view->now_ns, offset = at_ns - view->start_ns;
	struct human number = text_gpu(view, v->gpu);
	const char *cause = v->verdict.cause_count ? oom_cause_name(v->verdict.causes[0].kind) : "-";
	const char *gpu = !v->facts.is_of_gpu ? "host" : v->rec.outcome == GMT_OOM_NONE ? "-" : number.s;

	if (!opts->printed)
		out_printf(out, "%-19s%10s  %-*s%-5s%9s  %-*s%s\n", "TIME (UTC)", "PID", NAME_COLUMNS + 2, "PROCESS",
			   "GPU", "ASKED", CAUSE_COLUMNS, "CAUSE", "FILE");
	out_printf(out, "%-19s", view->wall_start_ns
				 ? human_wall(view->wall_start_ns + offset, "%Y-%m-%d %H:%M:%S").s
				 : text_offset(view, at_ns).s);
	print_asker(out, v);
	out_printf(out, "%-5s%9s  %-*s", gpu,
		   v->facts.asked ? human_bytes(v->facts.asked).s : "-", CAUSE_COLUMNS,
		   v->rec.outcome == GMT_OOM_NONE ? "none failed" : cause);
	human_print(out, FILE_COLUMNS, opts->file, strlen(opts->file));
	out_char(out, '\n');
}
