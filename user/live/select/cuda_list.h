/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists the processes that use CUDA: those that have libcuda mapped, with NVML's numbers. */
#ifndef GPUMEMTRACE_LIVE_SELECT_CUDA_LIST_H
#define GPUMEMTRACE_LIVE_SELECT_CUDA_LIST_H

#include <stdbool.h>

struct cuda_processes;

/* nvml_path, driver_root: see nvml_open(). no_nvml: do not ask NVML. 0, or -errno: /proc cannot be read. */
int cuda_list_open(struct cuda_processes *processes, const char *nvml_path, const char *driver_root, bool no_nvml);
void cuda_list_close(struct cuda_processes *processes);

#endif
