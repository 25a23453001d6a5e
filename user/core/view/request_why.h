/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds why the newest request of a process failed (core/terms/oom_why.h). */
#ifndef GPUMEMTRACE_CORE_VIEW_REQUEST_WHY_H
#define GPUMEMTRACE_CORE_VIEW_REQUEST_WHY_H

#include "core/terms/oom_why.h"

struct pipeline;
struct process;
struct view_request;

/* A verdict costs as much as a view. So it is made once, and again only when more stacks of the picture have names.
 * NULL: not known. The caller frees the result. */
struct oom_why *view_find_why(const struct pipeline *pl, const struct process *p, const struct view_request *request);

#endif
