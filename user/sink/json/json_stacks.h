/* SPDX-License-Identifier: BSD-2-Clause */
/* The members of the JSON that are about owners and stacks. */
#ifndef GPUMEMTRACE_SINK_JSON_JSON_STACKS_H
#define GPUMEMTRACE_SINK_JSON_JSON_STACKS_H

#include "base/js.h"
#include "core/view/view.h"

struct sink_opts;

/* Of one sum; `is_physical`: it is one that the kernel layer knows the whole of. */
json_t *json_stacks_of(const struct view *view, const struct view_stacks *stacks, bool is_physical);
json_t *json_stacks_unwinding(const struct view_unwinding *unwinding);

/* What the indices in these lead to. */
json_t *json_stacks_list(const struct view *view);
json_t *json_stacks_symbols(const struct view *view);

/* json.c: the whole; a moment; null if it never was. */
json_t *sink_json_view(const struct view *view, const struct sink_opts *opts, const char *type);
json_t *sink_json_moment(const struct view *view, uint64_t ts_ns);
json_t *sink_json_moment_if(const struct view *view, bool happened, uint64_t ts_ns);

#endif
