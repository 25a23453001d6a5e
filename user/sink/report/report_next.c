// SPDX-License-Identifier: BSD-2-Clause
/*
 * The commands that show more than a report.
 *
 *     NEXT    gpumemtrace oom gpumemtrace-oom-....gmt
 *             gpumemtrace report --full run.gmt
 */
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/out.h"
#include "core/view/finding.h"
#include "sink/report/report.h"
#include "sink/sink.h"
#include "sink/text/finding_text.h"

#define PATH_COLUMNS 4096

static bool had_failures(const struct view *view)
{
	for (size_t i = 0; i < view->finding_count; i++)
		if (view->findings[i].kind == FINDING_OF_OUT_OF_MEMORY)
			return true;
	return false;
}

char *report_command(const char *command, const struct sink_opts *opts, const char *file)
{
	struct out out;

	out_init_mem(&out);
	out_printf(&out, "%s ", command);
	for (size_t i = 0; i < opts->pid_count; i++)
		out_printf(&out, "%s%d%s", i ? "," : "-p ", (int)opts->pids[i], i + 1 < opts->pid_count ? "" : " ");
	if (opts->gpu) {
		out_text(&out, "--gpu ");
		human_print(&out, PATH_COLUMNS, opts->gpu, strlen(opts->gpu));
		out_char(&out, ' ');
	}
	human_print(&out, PATH_COLUMNS, file, strlen(file));
	return out_take(&out);
}

static void next_line(struct out *out, const char *label, const char *command, const struct sink_opts *opts,
		      const char *file)
{
	char *text = report_command(command, opts, file);

	out_printf(out, "%-*s%s\n", FINDING_TEXT_LABEL, label, text);
	free(text);
}

void report_next(struct out *out, const struct view *view, const struct sink_opts *opts, bool has_more)
{
	const char *failures = opts->dump ? opts->dump : had_failures(view) ? opts->recording : NULL;
	bool is_dump = opts->dump && opts->dump == opts->recording;
	bool has_tables = !opts->full && !is_dump && !has_more && (view->proc_count || view->ended.count);

	if (failures)
		next_line(out, "NEXT", "gpumemtrace oom", opts, failures);
	if (has_tables && opts->recording)
		next_line(out, failures ? "" : "NEXT", "gpumemtrace report --full", opts, opts->recording);
	else if (has_tables)
		out_text(out, "--full prints the tables behind these numbers\n");
}
