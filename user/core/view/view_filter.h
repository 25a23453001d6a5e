/* SPDX-License-Identifier: BSD-2-Clause */
/* Restricts a view to some processes and to a GPU. */
#ifndef GPUMEMTRACE_CORE_VIEW_VIEW_FILTER_H
#define GPUMEMTRACE_CORE_VIEW_VIEW_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/view/view.h"

/* Whether the request is for this process. */
bool view_wants_process(const struct view_request *request, uint32_t tgid);
/* Whether the request is for this GPU of the view. VIEW_GPU_UNKNOWN is a GPU that no request names. */
bool view_wants_gpu(const struct view_request *request, const struct view *view, int gpu);

/* Drops the processes and the rows that the request is not for. With a GPU, memory that is on no GPU goes, too; the
 * classes of a process are then those of the rows that stay. Facts about the session stay as they are. */
void view_filter(struct view *view, const struct view_request *request);

#endif
