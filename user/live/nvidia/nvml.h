/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asks NVIDIA's management library, opened at run time, which GPUs there are, and how many bytes of each GPU every
 * process uses, as nvidia-smi prints them. The library is optional: everything else works without it.
 *
 * Calls go through the kernel driver and wait for it. Opening typically takes 10 to 50 ms with the persistence daemon,
 * and seconds without the daemon if no process uses a GPU. A process list takes 1 to 10 ms a GPU. A thread that must
 * keep up with the ring must not make these calls.
 */
#ifndef GPUMEMTRACE_LIVE_NVIDIA_NVML_H
#define GPUMEMTRACE_LIVE_NVIDIA_NVML_H

#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

struct nvml;

/* What one process uses of one GPU, or MIG instance. */
struct nvml_usage {
	uint32_t pid;            /* in the collector's pid namespace; the driver leaves other processes out */
	const struct gmt_gpu *gpu;
	uint64_t used_bytes;     /* NVML_USED_UNKNOWN: NVML lists the process without a number (WSL) */
};
#define NVML_USED_UNKNOWN UINT64_MAX

typedef void (*nvml_usage_cb)(const struct nvml_usage *usage, void *arg);

/*
 * `path`: the library to open, NULL for the usual places; `root`: a driver root ("" none) whose library comes first.
 * Returns 0; or -ENOENT (no library), -ENODEV (library, but no driver), -EIO, -ENOTSUP (this build cannot load
 * libraries). After an error `why` is a sentence for the user.
 */
int nvml_open(const char *path, const char *root, struct nvml **nvml, char *why, size_t why_size);
void nvml_close(struct nvml *nvml);

/* The library that was opened, as given to dlopen(). */
const char *nvml_path(const struct nvml *nvml);

/* Returns the GPUs in nvidia-smi's order, each followed by its MIG instances. Their headers have no time.
 * nvml_open() reads them once, and they are valid until nvml_close(). */
const struct gmt_gpu *nvml_gpus(const struct nvml *nvml, size_t *count);

/* Calls back once for each pair of process and GPU, for compute, graphics and MPS clients alike. 0, or -errno if a GPU
 * did not answer; the other GPUs are asked all the same. */
int nvml_processes(struct nvml *nvml, nvml_usage_cb cb, void *arg);

/* The memory of a GPU, one of nvml_gpus(), whoever holds it. 0, or -ENOTSUP: NVML does not say. */
int nvml_memory(const struct nvml *nvml, const struct gmt_gpu *gpu, uint64_t *used_bytes, uint64_t *free_bytes);

#endif
