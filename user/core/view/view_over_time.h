/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes the part of a view about memory over time (view_timeline.h). */
#ifndef GPUMEMTRACE_CORE_VIEW_VIEW_OVER_TIME_H
#define GPUMEMTRACE_CORE_VIEW_VIEW_OVER_TIME_H

#include "core/timeline/timeline.h"
#include "core/timeline/view_timeline.h"
#include "core/view/by_stack.h"

struct frames;
struct framework;
struct view_training;

/* Takes frames, points and parts of a series that has ended; the series keeps its keys. b: NULL for levels, whose keys
 * have no stack to show. segments: by the ids of stacks that allocated a framework's reserve; NULL: there are none. */
void view_series_take(struct series *s, struct by_stack *b, const struct hash *segments, struct view_series *out);

/* Of a row of the process's account, with the blocks of the device of its framework that has the row. f: NULL where
 * there is no framework. `training`: of the same row. NULL: the timeline has nothing of the row. */
struct view_timeline *view_over_time(const struct timeline *t, const struct process *p, unsigned int row,
				     const struct framework *f, const struct frames *frames,
				     const struct view_training *training, struct by_stack *b);

#endif
