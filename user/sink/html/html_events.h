/* SPDX-License-Identifier: BSD-2-Clause */
/* Single allocations and blocks (view_lives.h) as a member of the page's JSON, as packed numbers. */
#ifndef GPUMEMTRACE_SINK_HTML_HTML_EVENTS_H
#define GPUMEMTRACE_SINK_HTML_HTML_EVENTS_H

struct out;
struct view;

void html_put_events(struct out *out, const struct view *view);

#endif
