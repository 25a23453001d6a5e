/* SPDX-License-Identifier: BSD-2-Clause */
/* Tries whether this thread may do what tracing does, with the capabilities that it has now. */
#ifndef GPUMEMTRACE_LIVE_PROBE_PERMISSION_H
#define GPUMEMTRACE_LIVE_PROBE_PERMISSION_H

#include <stdbool.h>

/* Whether the kernel refuses something for lack of privileges: to load a program, to watch mappings, to open a mapped
 * file. Kernels and distributions differ in what they ask for, so each is tried. */
bool permission_is_refused(void);

#endif
