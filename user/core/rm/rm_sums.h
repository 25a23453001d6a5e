/* SPDX-License-Identifier: BSD-2-Clause */
/* What the physical memory of a process adds up to, and how one record changes the sums. GPUs are those of gpus.h. */
#ifndef GPUMEMTRACE_CORE_RM_RM_SUMS_H
#define GPUMEMTRACE_CORE_RM_RM_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include <gpumemtrace/api.h>

#include "core/terms/gpus.h"

/* Live physical bytes on one GPU, or on GPU_UNKNOWN. */
struct rm_physical {
	uint64_t by_purpose[GMT_PURPOSE_COUNT];
	uint64_t total;
	uint64_t imported;      /* of objects that show another process's memory; not in total */
	uint64_t unknown_frees; /* freed objects from before the attach; without a known GPU in GPU_UNKNOWN's */
};

/* What one record did to the physical memory. Only an allocation adds bytes, and only on one GPU. If the totals of
 * several GPUs changed (a release of memory on several GPUs, or an allocation that shows the GPU of earlier memory),
 * `several` is set and `bytes` is the sum. */
struct rm_change {
	int gpu;
	bool several;
	int64_t bytes;
	bool unknown_free;     /* an object that was not seen allocated was freed */
	bool double_alloc;     /* an object that was live was allocated again; the old one was dropped */
};

/* Memory that no call of the API layer explains (contexts, modules, streams, graphs, memory obtained outside of a
 * call), to be booked by its own stack. */
enum rm_booking_kind { RM_BOOKING_ADD, RM_BOOKING_REMOVE, RM_BOOKING_MOVE };
struct rm_booking {
	enum rm_booking_kind kind;
	int gpu, to;             /* MOVE: from `gpu` to `to`; else `to` is GPU_UNKNOWN */
	uint32_t stack_id;       /* 0: none */
	uint64_t bytes;
	uint64_t ts_ns;          /* of its allocation */
};

/* Video memory that was freed. */
struct rm_freed {
	int gpu;
	uint32_t stack_id;
	uint64_t bytes;
	uint64_t ts_ns;          /* of its allocation */
	uint8_t purpose;         /* enum gmt_purpose */
};

#endif
