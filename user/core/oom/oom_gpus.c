// SPDX-License-Identifier: BSD-2-Clause
#include "core/oom/oom_gpus.h"

#include <string.h>

#include "base/amounts.h"
#include "base/xalloc.h"
#include "core/ledger/ledger_state.h"
#include "core/oom/oom_state.h"

const struct oom_gpu *oom_gpu_of(const struct oom *oom, const uint8_t *uuid)
{
	for (size_t i = 0; i < oom->gpu_count; i++)
		if (!memcmp(oom->gpus[i].memory.uuid, uuid, GMT_UUID_BYTES))
			return &oom->gpus[i];
	return NULL;
}

static void take_neighbours(struct oom_gpu *to, const struct neighbours *from, const struct processes *processes)
{
	to->neighbours.count = 0;
	to->neighbours.others = from->others;
	for (size_t i = 0; i < from->count; i++)
		if (!process_is_traced(processes, from->list[i].hdr.tgid))
			to->neighbours.list[to->neighbours.count++] = from->list[i];
}

void oom_take_gpus(struct oom *oom, const struct ledger *l)
{
	uint64_t at_ns = oom->rec.hdr.ts_ns;

	for (int i = 0; i < l->gpus.count; i++) {
		const struct gpu *from = &l->gpus.list[i];
		const struct oom_gpu *known = oom_gpu_of(oom, from->uuid);
		struct oom_gpu *to;

		if (!from->memory.hdr.size || (known && distance_of(known->memory.hdr.ts_ns, at_ns) <
							distance_of(from->memory.hdr.ts_ns, at_ns)))
			continue;
		if (!known) {
			oom->gpus = xgrow(oom->gpus, oom->gpu_count, sizeof(*oom->gpus));
			known = &oom->gpus[oom->gpu_count++];
		}
		to = &oom->gpus[known - oom->gpus];
		to->memory = from->memory;
		to->memory.hdr.size = sizeof(to->memory);
		take_neighbours(to, &from->neighbours, &l->processes);
	}
}
