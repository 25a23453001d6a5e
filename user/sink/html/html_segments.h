/* SPDX-License-Identifier: BSD-2-Clause */
/* Segments and blocks at instants (view_instants.h) as a member of the page's JSON, as packed numbers. */
#ifndef GPUMEMTRACE_SINK_HTML_HTML_SEGMENTS_H
#define GPUMEMTRACE_SINK_HTML_HTML_SEGMENTS_H

struct out;
struct view;

/* Nothing where no instants were kept. */
void html_put_segments(struct out *out, const struct view *view);

#endif
