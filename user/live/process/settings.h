/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the settings of a framework's allocator from the environment of a process. Only the flags are kept. */
#ifndef GPUMEMTRACE_LIVE_PROCESS_SETTINGS_H
#define GPUMEMTRACE_LIVE_PROCESS_SETTINGS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct framework;

/* Flags (enum gmt_framework_flag) from the bytes of /proc/PID/environ. */
uint32_t settings_parse(const struct framework *framework, const char *bytes, size_t size);
/* Flags of a process, from its environment at the start; 0 if the environment may not be read. */
uint32_t settings_read(const struct framework *framework, pid_t pid);

#endif
