/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames and points of a series (series.h), as a view has them, too. */
#ifndef GPUMEMTRACE_CORE_TIMELINE_VIEW_SERIES_H
#define GPUMEMTRACE_CORE_TIMELINE_VIEW_SERIES_H

#include <stdint.h>

#include <gpumemtrace/terms.h>

enum series_why {
	SERIES_TIME,             /* a slot of time has ended */
	SERIES_ITERATION,
	SERIES_MARK,
	SERIES_REQUEST,          /* a request for memory has failed */
	SERIES_WHY_COUNT
};

struct series_point {
	uint32_t key;            /* index in keys */
	uint64_t live;           /* at the frame */
	uint64_t least, most;    /* after the frame before, which belongs to this span, too */
};

/* The parts of the sum that a frame has more, or less, than the frame before: see series_parts.h. */
#define SERIES_PARTS GMT_CATEGORY_COUNT
struct series_parts {
	int64_t change[SERIES_PARTS];
};

struct series_frame {
	uint64_t ts_ns;
	uint64_t live, least, most; /* of the sum, likewise */
	uint64_t first;          /* its points: so many from this index, the smallest key first */
	uint32_t count;
	uint32_t number;         /* ITERATION: which one */
	enum series_why why;
};

#endif
