/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of a view (view.h) that are counted while records come: what lives, and its peak. All sizes are bytes. */
#ifndef GPUMEMTRACE_CORE_TERMS_VIEW_LEVELS_H
#define GPUMEMTRACE_CORE_TERMS_VIEW_LEVELS_H

#include <stdint.h>

#include <gpumemtrace/terms.h>

struct view_level {
	uint64_t live;
	uint64_t peak;
	uint64_t peak_ts_ns;     /* when the peak was reached first */
};

struct view_class {
	struct view_level bytes;
	uint64_t live_count;
	uint64_t allocs;         /* successful, since attach */
	uint64_t frees;
	uint64_t alloc_bytes;    /* total ever allocated since attach: rates are its differences */
	uint64_t freed_bytes;
	uint64_t failed;         /* allocations that returned an error */
};

/* Many processes that have ended, as one. */
struct view_ended {
	uint64_t count;
	struct view_class by_class[GMT_CLASS_COUNT]; /* live: sums at their ends; peak: the greatest of one process */
	uint64_t anomalies[GMT_ANOMALY_COUNT];
	uint64_t ooms[GMT_OOM_OUTCOME_COUNT];        /* failed requests by their outcome */
};

/* A row at one moment, as the members of a sum. Without the kernel layer, `context` to `other` are 0. */
struct view_sum {
	uint64_t attributed;
	int64_t context, modules, pool_reserve, rounding, other;
	uint64_t checkpointed;   /* of the members before: moved to host memory, so the sum has these bytes less */
	uint64_t before_attach;
	int64_t residual;
	uint64_t by_class[GMT_CLASS_COUNT]; /* of attributed; 0 for classes that are no device memory */
};

#endif
