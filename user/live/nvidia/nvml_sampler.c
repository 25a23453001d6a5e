// SPDX-License-Identifier: BSD-2-Clause
#include "live/nvidia/nvml_sampler.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "live/nvidia/neighbours_told.h"
#include "live/nvidia/nvml_thread.h"
#include "live/process/roster.h"
#include "live/stream.h"

#define TRIES 3        /* to find a quiet moment, for one sample */
#define SKIPS_MAX 5    /* samples left out in a row */
#define BASELINES 3    /* samples after a baseline that are baselines, too, if they are quiet (enum gmt_nvml_when) */

struct usage {
	struct nvml_usage now;
	bool reported;     /* in the newest answer of NVML */
};

struct meter {
	struct nvml_thread *nvml;
	struct roster *roster;
	struct stream *stream;
	bool adopt;
	meter_drain_fn drain;
	void *arg;
	struct usage *usages;   /* every (process, GPU) ever reported; few */
	size_t count;
	struct neighbours_told neighbours;
	unsigned int skipped;
	unsigned int baselines; /* still to be put */
};

struct meter *meter_new(struct nvml *nvml, struct roster *roster, struct stream *stream, bool adopt,
			meter_drain_fn drain, void *arg)
{
	struct meter *meter = xcalloc(1, sizeof(*meter));

	*meter = (struct meter){
		.nvml = nvml_thread_new(nvml), .roster = roster, .stream = stream, .adopt = adopt, .drain = drain,
		.arg = arg,
	};
	if (meter->nvml)
		return meter;
	free(meter);
	return NULL;
}

bool meter_free(struct meter *meter)
{
	if (!meter)
		return true;
	if (!nvml_thread_free(meter->nvml))
		return false;
	free(meter->usages);
	neighbours_told_free(&meter->neighbours);
	free(meter);
	return true;
}

static void note_usage(const struct nvml_usage *usage, void *arg)
{
	struct meter *meter = arg;
	size_t i;

	if (usage->used_bytes == NVML_USED_UNKNOWN)
		return;
	for (i = 0; i < meter->count; i++)
		if (meter->usages[i].now.pid == usage->pid && meter->usages[i].now.gpu == usage->gpu)
			break;
	if (i == meter->count)
		meter->usages = xgrow(meter->usages, meter->count++, sizeof(*meter->usages));
	meter->usages[i] = (struct usage){ *usage, true };
}

/* 1: no memory changed while NVML was asked. 0: memory changed. -EAGAIN: NVML does not answer. */
static int ask_nvml(struct meter *meter, uint64_t wait_ns)
{
	uint64_t before;

	for (int i = 0; i < TRIES; i++) {
		meter->drain(meter->arg);
		before = roster_kernel_records(meter->roster);
		for (size_t u = 0; u < meter->count; u++) {
			meter->usages[u].reported = false;
			meter->usages[u].now.used_bytes = 0;
		}
		if (nvml_thread_ask(meter->nvml, note_usage, meter, wait_ns) == -EAGAIN)
			return -EAGAIN;
		meter->drain(meter->arg);
		if (roster_kernel_records(meter->roster) == before)
			return 1;
	}
	return 0;
}

static void put_samples(struct meter *meter, enum gmt_nvml_when when, bool adopt)
{
	for (size_t i = 0; i < meter->count; i++) {
		const struct nvml_usage *usage = &meter->usages[i].now;
		struct gmt_nvml rec = { .used_bytes = usage->used_bytes, .when = when };

		if (!roster_is_live(meter->roster, usage->pid)) {
			if (!adopt)
				continue;
			roster_add(meter->roster, usage->pid, true);
		}
		memcpy(rec.uuid, usage->gpu->uuid, GMT_UUID_BYTES);
		STREAM_PUT(meter->stream, &rec, NVML, usage->pid);
	}
}

static uint64_t sum_of_processes(const struct meter *meter, const struct gmt_gpu *gpu)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < meter->count; i++)
		if (meter->usages[i].now.gpu == gpu)
			sum += meter->usages[i].now.used_bytes;
	return sum;
}

/* After the samples: a process that is adopted is traced. */
static void put_neighbours(struct meter *meter, const struct gmt_gpu *gpu)
{
	struct neighbour_usage *list = xcalloc(meter->count + 1, sizeof(*list));
	size_t count = 0;

	for (size_t i = 0; i < meter->count; i++) {
		const struct nvml_usage *usage = &meter->usages[i].now;

		if (usage->gpu == gpu && !roster_is_live(meter->roster, (pid_t)usage->pid))
			list[count++] = (struct neighbour_usage){ usage->pid, usage->used_bytes };
	}
	neighbours_tell(&meter->neighbours, meter->stream, gpu, list, count);
	free(list);
}

static void put_gpu_memory(struct meter *meter)
{
	size_t count;
	const struct nvml_gpu_memory *memory = nvml_thread_gpus(meter->nvml, &count);

	for (size_t i = 0; i < count; i++) {
		struct gmt_gpu_memory rec = {
			.used_bytes = memory[i].used_bytes,
			.free_bytes = memory[i].free_bytes,
			.processes_bytes = sum_of_processes(meter, memory[i].gpu),
		};

		memcpy(rec.uuid, memory[i].gpu->uuid, GMT_UUID_BYTES);
		STREAM_PUT(meter->stream, &rec, GPU_MEMORY, 0);
		put_neighbours(meter, memory[i].gpu);
	}
}

/* A process that has left its GPUs is reported once more and then forgotten, as its pid may be used again. */
static void forget_gone(struct meter *meter)
{
	for (size_t i = 0; i < meter->count;) {
		if (meter->usages[i].reported)
			i++;
		else
			meter->usages[i] = meter->usages[--meter->count];
	}
}

/* Also a later sample may be a baseline. */
static enum gmt_nvml_when meant_as(struct meter *meter, enum gmt_nvml_when when, bool is_quiet, bool last)
{
	if (when == GMT_NVML_BASELINE)
		meter->baselines = BASELINES;
	else if (is_quiet && !last && meter->baselines && meter->baselines--)
		return GMT_NVML_BASELINE;
	return when;
}

bool meter_sample(struct meter *meter, enum gmt_nvml_when when, bool last)
{
	int is_quiet = meter ? ask_nvml(meter, last ? METER_LAST_NS : METER_WAIT_NS) : 0;

	if (is_quiet < 0)
		return false;
	if (!meter || (!is_quiet && !last && when == GMT_NVML_SAMPLE && ++meter->skipped <= SKIPS_MAX))
		return true;
	meter->skipped = 0;
	put_samples(meter, meant_as(meter, when, is_quiet, last), meter->adopt && when == GMT_NVML_BASELINE);
	put_gpu_memory(meter);
	forget_gone(meter);
	return true;
}
