/* SPDX-License-Identifier: BSD-2-Clause */
/* What the environment of a process asks a framework's allocator for. Only the answer is kept. */
#ifndef GPUMEMTRACE_LIVE_PROCESS_SETTINGS_H
#define GPUMEMTRACE_LIVE_PROCESS_SETTINGS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct framework;

/* enum gmt_framework_flag: of an environment as /proc/PID/environ has it. */
uint32_t settings_parse(const struct framework *framework, const char *bytes, size_t size);
/* Of a process, as it was when it began; 0 where it may not be read. */
uint32_t settings_read(const struct framework *framework, pid_t pid);

#endif
