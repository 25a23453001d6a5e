/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames and points of a series (series.h), as a view has them, too. */
#ifndef GPUMEMTRACE_CORE_TIMELINE_VIEW_SERIES_H
#define GPUMEMTRACE_CORE_TIMELINE_VIEW_SERIES_H

#include <stdint.h>

#include <gpumemtrace/terms.h>

enum series_why {
	SERIES_TIME,             /* a slot of time has ended */
	SERIES_ITERATION,
	SERIES_MARK,             /* somebody has set a mark: peaks and growth count from here */
	SERIES_REQUEST,          /* a request for memory has failed */
	SERIES_BASELINE,         /* growth may be counted from here: as often as gpumemtrace finds useful */
	SERIES_PEAK,             /* the sum was highest, before a mark or at all */
	SERIES_WHY_COUNT
};

struct series_point {
	uint32_t key;            /* index in keys */
	uint64_t live;           /* at the frame */
	uint64_t least, most;    /* after the frame before, which belongs to this span, too */
};

/*
 * The parts of the sum (series_parts.h) since the frame before: what each has more, or less, now, and the bytes that
 * went, also those that came and went. So in between a part had at least `gone` less than before, and at most
 * `gone` + `change` more.
 */
#define SERIES_PARTS GMT_CATEGORY_COUNT
struct series_parts {
	int64_t change[SERIES_PARTS];
	uint64_t gone[SERIES_PARTS];
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
