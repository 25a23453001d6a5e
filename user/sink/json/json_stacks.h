/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes JSON of moments, owners and stack traces. */
#ifndef GPUMEMTRACE_SINK_JSON_JSON_STACKS_H
#define GPUMEMTRACE_SINK_JSON_JSON_STACKS_H

#include "base/js.h"
#include "core/view/view.h"

/* The wall clock and offset of a moment; _if: null if the moment has not happened. */
json_t *json_moment(const struct view *view, uint64_t ts_ns);
json_t *json_moment_if(const struct view *view, bool happened, uint64_t ts_ns);

/* One sum. is_physical: the kernel layer knows all of the memory. */
json_t *json_stacks_of(const struct view *view, const struct view_stacks *stacks, bool is_physical);
/* What an iteration adds; null: no iterations are known. */
json_t *json_stacks_each(const struct view_stacks *stacks, const struct view_held *held);
json_t *json_stacks_unwinding(const struct view_unwinding *unwinding);

/* The stack traces and symbols to which the indices lead. */
json_t *json_stacks_list(const struct view *view);
json_t *json_stacks_symbols(const struct view *view);

#endif
