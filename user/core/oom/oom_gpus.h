/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What NVML told of the GPUs nearest to the moment of a picture: the dump and a replay of the recording must name the
 * same processes, also where others came and went shortly after.
 */
#ifndef GPUMEMTRACE_CORE_OOM_OOM_GPUS_H
#define GPUMEMTRACE_CORE_OOM_OOM_GPUS_H

#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

#include "core/terms/neighbours.h"

struct ledger;
struct oom;

struct oom_gpu {
	struct gmt_gpu_memory memory;     /* has the GPU's UUID, and the time of the sample */
	struct neighbours neighbours;     /* without processes that were traced by then */
};

/* Takes in NVML's newest numbers of each GPU, where they are nearer to the moment of the request than those that the
 * request has, or where it has none. */
void oom_take_gpus(struct oom *oom, const struct ledger *ledger);

/* What the request has of a GPU; NULL: nothing. */
const struct oom_gpu *oom_gpu_of(const struct oom *oom, const uint8_t *uuid);

#endif
