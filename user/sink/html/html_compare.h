/* SPDX-License-Identifier: BSD-2-Clause */
/* Pages of comparisons, for sinks (sink.h): what two recordings or moments differ in, and the ranks of one job. */
#ifndef GPUMEMTRACE_SINK_HTML_HTML_COMPARE_H
#define GPUMEMTRACE_SINK_HTML_HTML_COMPARE_H

struct diff;
struct out;
struct ranks;
struct sink_opts;

void html_write_diff(struct out *out, const struct diff *diff, const struct sink_opts *opts);
void html_write_ranks(struct out *out, const struct ranks *ranks, const struct sink_opts *opts);

#endif
