/* SPDX-License-Identifier: BSD-2-Clause */
/* The numbers and names of the HTML report, as JSON in a script of type application/json. */
#ifndef GPUMEMTRACE_SINK_HTML_HTML_DATA_H
#define GPUMEMTRACE_SINK_HTML_HTML_DATA_H

#include <stdbool.h>

struct out;
struct sink_opts;
struct view;

/* is_dump: the view is of a dump's picture, and the report is its verdict. */
void html_put_data(struct out *out, const struct view *view, bool is_dump, const struct sink_opts *opts);

#endif
