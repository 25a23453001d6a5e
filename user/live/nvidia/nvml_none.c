// SPDX-License-Identifier: BSD-2-Clause
/*
 * Replaces nvml.c in the static build. NVML is a shared library and would load the machine's libc beside the program's
 * own. The linker warns of dlopen() in static programs: it "requires at runtime the shared libraries from the glibc
 * version used for linking".
 */
#include "live/nvidia/nvml.h"

#include <errno.h>
#include <stdio.h>

int nvml_open(const char *path, const char *root, struct nvml **nvml, char *why, size_t why_size)
{
	(void)path;
	(void)root;
	*nvml = NULL;
	snprintf(why, why_size, "this static build cannot load NVML; the sum is not checked against nvidia-smi");
	return -ENOTSUP;
}

/* Never called: there is no handle to pass. */
void nvml_close(struct nvml *nvml)
{
	(void)nvml;
}

const char *nvml_path(const struct nvml *nvml)
{
	(void)nvml;
	return "";
}

const struct gmt_gpu *nvml_gpus(const struct nvml *nvml, size_t *count)
{
	(void)nvml;
	*count = 0;
	return NULL;
}

int nvml_processes(struct nvml *nvml, nvml_usage_cb cb, void *arg)
{
	(void)nvml;
	(void)cb;
	(void)arg;
	return -ENOTSUP;
}

int nvml_memory(const struct nvml *nvml, const struct gmt_gpu *gpu, uint64_t *used_bytes, uint64_t *free_bytes)
{
	(void)nvml;
	(void)gpu;
	(void)used_bytes;
	(void)free_bytes;
	return -ENOTSUP;
}
