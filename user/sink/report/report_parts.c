// SPDX-License-Identifier: BSD-2-Clause
#include "sink/report/report_parts.h"

#include "sink/text/finding_text.h"
#include "sink/text/text.h"

void report_put(struct out *out, const struct sink_opts *opts, const char *label, struct out *line)
{
	text_item(out, opts, TEXT_PLAIN, &(struct text_place){ label, FINDING_TEXT_LABEL, TEXT_COLUMNS }, line);
}

uint64_t report_most_of(const struct view_row *row)
{
	return row->has_physical ? row->physical.peak : row->attributed.peak;
}
