/* SPDX-License-Identifier: BSD-2-Clause */
/* What came and went in the last part of a history. */
#ifndef GPUMEMTRACE_CORE_HISTORY_HISTORY_RECENT_H
#define GPUMEMTRACE_CORE_HISTORY_HISTORY_RECENT_H

#include <stdint.h>

struct history;

struct history_change {
	uint64_t allocs, alloc_bytes, frees, freed_bytes;
};

struct history_changes {
	uint64_t since_ns;       /* of the first event; 0: there was none, and all is 0 */
	uint64_t until_ns;
	struct history_change blocks;    /* PyTorch's */
	struct history_change segments;  /* the driver's */
};

/* Of a process, or with 0 of all: the events before number `end` that lie no longer than `span_ns` before
 * `until_ns`. */
void history_changes(const struct history *h, uint32_t tgid, uint64_t end, uint64_t until_ns, uint64_t span_ns,
		     struct history_changes *out);

#endif
