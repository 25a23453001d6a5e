/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether a selector selects a process. */
#ifndef GPUMEMTRACE_LIVE_PROCESS_FIND_MATCH_H
#define GPUMEMTRACE_LIVE_PROCESS_FIND_MATCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "live/process/find_selector.h"

/* False, too, if the process is gone. Notes in the selector if it is ambiguous. */
bool find_matches(const char *root, struct find_selector *selector, pid_t pid);

#endif
