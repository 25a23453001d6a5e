/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The GPUs that records have named: a small number for each UUID, in order of appearance. A GPU keeps its number. At
 * most GPUS_MAX GPUs have one.
 */
#ifndef GPUMEMTRACE_CORE_TERMS_GPUS_H
#define GPUMEMTRACE_CORE_TERMS_GPUS_H

#include <stdbool.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

#include "core/terms/neighbours.h"

#define GPU_UNKNOWN (-1)
#define GPUS_MAX 254

struct gpu {
	uint8_t uuid[GMT_UUID_BYTES];
	bool listed;             /* in the inventory: record is valid */
	struct gmt_gpu record;
	struct gmt_gpu_memory memory; /* NVML's newest numbers; hdr.size 0: none */
	struct neighbours neighbours;
};

struct gpus {
	struct gpu *list;
	int count;
	int usable;              /* number of listed ones, without GPUs in MIG mode, whose instances are used instead */
	bool has_mig;            /* MIG instances are listed */
};

void gpus_fini(struct gpus *gpus);

/* The number of a UUID, a new number if need be; GPU_UNKNOWN for a UUID of all zeros (unreadable). */
int gpus_number(struct gpus *gpus, const uint8_t *uuid);
/* The number that a UUID has; GPU_UNKNOWN: none. */
int gpus_find(const struct gpus *gpus, const uint8_t *uuid);

/* Takes an inventory record in. */
void gpus_list(struct gpus *gpus, const struct gmt_gpu *record);

/* The one GPU that can be used, if the inventory has just one. */
int gpus_only(const struct gpus *gpus);

static inline bool gpus_is_mig(const struct gpus *gpus, int number)
{
	return number >= 0 && gpus->list[number].listed && (gpus->list[number].record.flags & GMT_GPU_MIG);
}

#endif
