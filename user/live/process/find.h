/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds processes by what people know of them. Reads /proc and the files of daemons below a root ("" for this machine),
 * and prints nothing. A process may end at any time: it is left out then.
 */
#ifndef GPUMEMTRACE_LIVE_PROCESS_FIND_H
#define GPUMEMTRACE_LIVE_PROCESS_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "live/process/find_facts.h"
#include "live/process/find_selector.h"

#define FIND_MOST 8192           /* processes in a list */

struct find_list {
	struct find_process *list;   /* by pid; to be freed */
	size_t count;
	size_t beyond;               /* more than FIND_MOST */
};

/* Finds all processes that one of the selectors selects, but not the caller. 0, or -errno: /proc cannot be read. */
int find_processes(const char *root, struct find_selector *selectors, size_t count, struct find_list *found);
/* The same, but calls back for the pid of each: this takes much less time. */
int find_each(const char *root, struct find_selector *selectors, size_t count, void (*fn)(pid_t pid, void *arg),
	      void *arg);
/* Whether a process is selected, by what the newest look found of the selectors. */
bool find_selects(const char *root, struct find_selector *selectors, size_t count, pid_t pid);

#endif
