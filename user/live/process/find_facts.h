/* SPDX-License-Identifier: BSD-2-Clause */
/* The facts about a process that tell it from others, read below a root. All of them are foreign text. */
#ifndef GPUMEMTRACE_LIVE_PROCESS_FIND_FACTS_H
#define GPUMEMTRACE_LIVE_PROCESS_FIND_FACTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <gpumemtrace/wire.h>

struct find_process {
	pid_t pid;
	uint64_t start_ticks;    /* tells the process from a later one with the same pid */
	uint64_t start_ns;       /* since boot */
	uint32_t uid;
	bool has_libcuda;
	bool is_hidden;          /* its mappings may not be read */
	bool is_tracer;          /* find_is_tracer() */
	char comm[GMT_COMM_BYTES + 1];
	char cmdline[256];
	char cgroup[256];
};

/* Reads the facts of a process. False: it is gone, a zombie or a kernel thread. `root`: "" for this machine. */
bool find_facts(const char *root, pid_t pid, struct find_process *process);
/* Whether there is such a process, no zombie and no kernel thread. */
bool find_is_running(const char *root, pid_t pid);
/* Whether this very process still runs. */
bool find_is_same(const char *root, pid_t pid, uint64_t start_ticks);
/* Whether the process runs the caller's own program file. NVML loads libcuda into such a process (seen with
 * 580.159.04), which does not make the process a user of CUDA. False, too, if its program may not be looked at. */
bool find_is_tracer(const char *root, pid_t pid);
/* For how long the process has been there now. */
uint64_t find_age_ns(const struct find_process *process);

#endif
