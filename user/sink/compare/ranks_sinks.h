/* SPDX-License-Identifier: BSD-2-Clause */
/* The ranks of one job, for people and in JSON (sink.h). */
#ifndef GPUMEMTRACE_SINK_COMPARE_RANKS_SINKS_H
#define GPUMEMTRACE_SINK_COMPARE_RANKS_SINKS_H

#include <jansson.h>

#include "core/compare/ranks.h"

struct out;
struct sink_opts;

/* "rank3.gmt", or "node1.gmt, pid 4711" where the recording has several ranks. */
void ranks_name(struct out *out, const struct ranks *ranks, size_t rank);
/* "rank3.gmt holds 832 MiB more in tensors than the median of 8 ranks: 800 MiB of them train.py:31 append" */
void ranks_answer(struct out *out, const struct ranks *ranks);

json_t *ranks_to_json(const struct ranks *ranks, const struct sink_opts *opts);

void ranks_print(struct out *out, const struct ranks *ranks, const struct sink_opts *opts);
void ranks_print_json(struct out *out, const struct ranks *ranks, const struct sink_opts *opts);

#endif
