/* SPDX-License-Identifier: BSD-2-Clause */
/* A request for memory that could not be met, for people and as JSON. */
#ifndef GPUMEMTRACE_SINK_OOM_OOM_SINKS_H
#define GPUMEMTRACE_SINK_OOM_OOM_SINKS_H

#include "core/view/oom_view.h"

struct out;
struct sink_opts;

/* What happened and why, in sentences, each on a line of its own that begins with `indent`. Nothing is in
 * them that the numbers do not say. */
void oom_text(struct out *out, const struct oom_view *view, const char *indent);
/* One line: when, who, how much, what became of it. */
void oom_text_head(struct out *out, const struct oom_view *view);

/* The sentences, then the tables. */
void oom_print(struct out *out, const struct oom_view *view, const struct sink_opts *opts);
/* One of several: those that a retry met in short, unless all is asked for. */
void oom_print_next(struct out *out, const struct oom_view *view, const struct sink_opts *opts);
void oom_print_none(struct out *out, const struct sink_opts *opts);
/* One line of JSON, "type": "oom". */
void oom_print_json(struct out *out, const struct oom_view *view, const struct sink_opts *opts);

/* Its parts: what was there, each sentence on a line; "process 4242 (python train.py)". */
void oom_text_contents(struct out *out, const struct oom_view *v, const char *indent);
void oom_text_process(struct out *out, const struct oom_view *v, size_t index);

#endif
