/* SPDX-License-Identifier: BSD-2-Clause */
/* The report for people about a view that was made by hand. */
#ifndef GPUMEMTRACE_TESTS_REPORT_OF_H
#define GPUMEMTRACE_TESTS_REPORT_OF_H

#include <stdlib.h>

#include "base/out.h"
#include "core/view/finding.h"
#include "sinks.h"
#include "views.h"

/* With the findings of the view; to be freed. */
static inline char *report_of(const struct fixture *f, const struct sink_opts *opts)
{
	struct view view = f->view;
	struct out out;

	view.findings = findings_make(&view, &view.finding_count);
	out_init_mem(&out);
	sink_find("plain")->report(&out, &view, opts);
	free(view.findings);
	return out_take(&out);
}

#endif
