/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes a failed request for memory, for people and in JSON. */
#ifndef GPUMEMTRACE_SINK_OOM_OOM_SINKS_H
#define GPUMEMTRACE_SINK_OOM_OOM_SINKS_H

#include "core/view/oom_view.h"

struct out;
struct sink_opts;

/* Writes sentences about what happened and why. Each sentence is a line that begins with `indent`. The sentences
 * follow from the numbers alone. */
void oom_text(struct out *out, const struct oom_view *view, const char *indent);
/* Writes one line: the time, the process, the size and the outcome. */
void oom_text_head(struct out *out, const struct oom_view *view);

/* Prints the sentences, then the tables. */
void oom_print(struct out *out, const struct oom_view *view, const struct sink_opts *opts);
/* Prints one of several requests, in short if a retry succeeded, unless opts->verbose. */
void oom_print_next(struct out *out, const struct oom_view *view, const struct sink_opts *opts);
void oom_print_none(struct out *out, const struct sink_opts *opts);
/* Prints one line of JSON, "type": "oom". */
void oom_print_json(struct out *out, const struct oom_view *view, const struct sink_opts *opts);

/* Parts of oom_text(): the sentences about the memory in use; "process 4242 (python train.py)". */
void oom_text_contents(struct out *out, const struct oom_view *v, const char *indent);
void oom_text_process(struct out *out, const struct oom_view *v, size_t index);

/* The memory on a GPU that a row is about; NULL: host memory. */
static inline const struct view_row *oom_gpu_row(const struct oom_view *v, const struct oom_view_row *r)
{
	return r->row == OOM_VIEW_NONE ? NULL : &v->view.procs[r->proc].rows[r->row];
}

#endif
