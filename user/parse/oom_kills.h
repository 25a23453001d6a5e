/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether the kernel had to kill processes for lack of memory. */
#ifndef GPUMEMTRACE_PARSE_OOM_KILLS_H
#define GPUMEMTRACE_PARSE_OOM_KILLS_H

#include <stdint.h>

/* The processes that the kernel has killed since the machine started, because the machine or a cgroup had no memory
 * left (oom_kill in /proc/vmstat). 0: there was none, or the number cannot be read. */
uint64_t oom_kills(void);

#endif
