/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Removes the probes of many files at once. The kernel waits for the end of all running probes each time that a link is
 * closed. Threads that close links at the same time share these waits.
 */
#ifndef GPUMEMTRACE_LIVE_PROBE_REMOVAL_H
#define GPUMEMTRACE_LIVE_PROBE_REMOVAL_H

#include <stddef.h>

struct uprobe_set;

#define REMOVAL_THREADS 64 /* at most, with the caller's; fewer if the system refuses them */

/* Detaches the sets, of which any may be NULL or empty: they stay, without probes. Returns when all probes are gone. */
void removal_detach(struct uprobe_set *const *sets, size_t count);

#endif
