/* SPDX-License-Identifier: BSD-2-Clause */
/* The processes that use CUDA at one moment, as `gpumemtrace ps` shows them. */
#ifndef GPUMEMTRACE_CORE_TERMS_CUDA_PROCESS_H
#define GPUMEMTRACE_CORE_TERMS_CUDA_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

struct cuda_process {
	uint32_t pid, uid;
	uint64_t start_ns;       /* CLOCK_BOOTTIME */
	uint64_t age_ns;
	char user[64];           /* the number if the name is not known */
	char comm[GMT_COMM_BYTES + 1];
	char cmdline[256];
	char cgroup[256];
	char pod[330];           /* "NAMESPACE/NAME"; "": not known */
};

/* What a process has on a GPU. */
struct cuda_use {
	uint32_t pid;
	struct gmt_gpu gpu;
	uint64_t used_bytes;     /* UINT64_MAX: unknown */
};

/* A process that may use CUDA: its mappings may not be read. */
struct cuda_hidden {
	uint32_t pid;
	char comm[GMT_COMM_BYTES + 1];
};

#define CUDA_HIDDEN_MOST 8

struct cuda_processes {
	size_t count, use_count;
	struct cuda_process *list;
	struct cuda_use *uses;   /* of these processes */
	size_t hidden;           /* whose mappings may not be read */
	struct cuda_hidden hidden_list[CUDA_HIDDEN_MOST]; /* the first ones */
	bool is_privileged;      /* the caller may read the mappings of other users' processes (CAP_SYS_PTRACE) */
	size_t beyond;           /* that have no room in the list */
	bool has_uses;           /* NVML was asked */
	char why_no_uses[256];
};

#endif
