// SPDX-License-Identifier: BSD-2-Clause
/*
 * Lists failed requests: when, who, where, how much, and the cause in a few words, in 80 columns. In the list of a
 * directory the file, whose name is long, has a line of its own.
 *
 *     TIME (UTC)             PID  PROCESS           GPU     ASKED  CAUSE
 *     2026-02-03 10:16:12   4242  python train.py   0     256 KiB  a leak
 *       gpumemtrace-oom-20260203-101612-4242-1-0f4d23a9.gmt
 */
#include <string.h>

#include "base/human.h"
#include "base/out.h"
#include "sink/oom/oom_sinks.h"
#include "sink/sink.h"
#include "sink/text/text.h"

#define PID_COLUMNS 9
#define NAME_COLUMNS 16
#define GPU_COLUMNS 4
#define ASKED_COLUMNS 9
#define FILE_INDENT 2
#define FILE_COLUMNS 200

static void print_asker(struct out *out, const struct oom_view *v)
{
	unsigned used = 0;

	if (!v->rec.hdr.tgid) {
		out_printf(out, "%*s  %-*s", PID_COLUMNS, "-", NAME_COLUMNS + 2, "all processes");
		return;
	}
	out_printf(out, "%*u  ", PID_COLUMNS, v->rec.hdr.tgid);
	if (v->proc != OOM_VIEW_NONE)
		used = text_command(out, NAME_COLUMNS, &v->view.procs[v->proc]);
	out_pad(out, (int)(NAME_COLUMNS + 2 - used));
}

/* Of a request that a retry satisfied, nothing needs to be done. */
static const char *name_cause(const struct oom_view *v)
{
	if (v->rec.outcome == GMT_OOM_NONE)
		return "none failed";
	if (v->rec.outcome == GMT_OOM_RETRY)
		return "a retry succeeded";
	return v->verdict.cause_count ? oom_cause_word(v->verdict.causes[0].kind) : "-";
}

void oom_print_row(struct out *out, const struct oom_view *v, const struct sink_opts *opts)
{
	const struct view *view = &v->view;
	uint64_t at_ns = v->rec.first_ns ? v->rec.first_ns : view->now_ns, offset = at_ns - view->start_ns;
	struct human number = text_gpu(view, v->gpu);
	const char *gpu = !v->facts.is_of_gpu ? "host" : v->rec.outcome == GMT_OOM_NONE ? "-" : number.s;

	if (!opts->printed)
		out_printf(out, "%-19s%*s  %-*s%-*s%*s  %s\n", "TIME (UTC)", PID_COLUMNS, "PID", NAME_COLUMNS + 2,
			   "PROCESS", GPU_COLUMNS, "GPU", ASKED_COLUMNS, "ASKED", "CAUSE");
	out_printf(out, "%-19s", view->wall_start_ns
				 ? human_wall(view->wall_start_ns + offset, "%Y-%m-%d %H:%M:%S").s
				 : text_offset(view, at_ns).s);
	print_asker(out, v);
	out_printf(out, "%-*s%*s  %s\n", GPU_COLUMNS, gpu, ASKED_COLUMNS,
		   v->facts.asked ? human_bytes(v->facts.asked).s : "-", name_cause(v));
	if (!opts->file)
		return;
	out_pad(out, FILE_INDENT);
	human_print(out, FILE_COLUMNS, opts->file, strlen(opts->file));
	out_char(out, '\n');
}
