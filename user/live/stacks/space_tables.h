/* SPDX-License-Identifier: BSD-2-Clause */
/* The unwinding tables of one process's mappings: those that BPF has are used, the others are built one by one. */
#ifndef GPUMEMTRACE_LIVE_STACKS_SPACE_TABLES_H
#define GPUMEMTRACE_LIVE_STACKS_SPACE_TABLES_H

#include <stdbool.h>

struct module_map;
struct modules;
struct space;
struct tables;

/* Makes the lists for the new modules of a process. What has not changed since `before` is copied. */
void space_fill(struct space *space, const struct space *before, const struct tables *tables);

/* Builds the table of one pending module, which takes milliseconds, and a second for the largest module. 0; else the
 * error of tables_build(), and the path of the module. If the file cannot be opened or read now, the module is
 * postponed. */
int space_build_one(struct space *space, struct tables *tables, const char **path);

/* Modules whose files could not be opened for a reason that may pass (space->postponed) are pending again, at most
 * SPACE_RETRIES times. */
void space_retry_postponed(struct space *space);
#define SPACE_RETRIES 60         /* with the periods of reading, a few seconds */

/* The process has ended: from now on its files are opened by their paths, if the paths are the same for us. */
void space_lose(struct space *space);
/* Calls space_lose() if the process has ended. Returns whether it has ended. */
bool space_is_lost(struct space *space);

/* Whether a mapping is one of the same file at the same place as a former mapping. */
bool space_has_map(const struct modules *before, const struct module_map *old, const struct modules *now,
		   const struct module_map *map);

#endif
