/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asks NVML (nvml.h) on a thread of its own: a call waits for the kernel driver, and the driver of a broken GPU may
 * never answer. Then the session goes on without NVML's numbers, and ends without waiting for the thread.
 */
#ifndef GPUMEMTRACE_LIVE_NVIDIA_NVML_THREAD_H
#define GPUMEMTRACE_LIVE_NVIDIA_NVML_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live/nvidia/nvml.h"

struct nvml_thread;

/* NULL: no thread can be started. Signals must be blocked. */
struct nvml_thread *nvml_thread_new(struct nvml *nvml);
/* False: the thread waits for the driver; everything stays, and NVML must stay open. NULL is fine. */
bool nvml_thread_free(struct nvml_thread *thread);

/* The memory of a GPU, whoever holds it. */
struct nvml_gpu_memory {
	const struct gmt_gpu *gpu;
	uint64_t used_bytes, free_bytes;
};

/*
 * Calls back as nvml_processes() does. 0, or -errno; -EAGAIN: no answer came within `wait_ns`, or an earlier question
 * still waits for its answer. A late answer is dropped.
 */
int nvml_thread_ask(struct nvml_thread *thread, nvml_usage_cb cb, void *arg, uint64_t wait_ns);

/* The GPUs whose memory NVML told with the newest answer. Call after an nvml_thread_ask() that was answered; valid
 * until the next. */
const struct nvml_gpu_memory *nvml_thread_gpus(const struct nvml_thread *thread, size_t *count);

#endif
