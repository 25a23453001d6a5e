/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The executable mappings that a process made, in order, as BPF numbers them (struct gmt_code_mapped). They tell
 * whether an address has been the same code at two moments: a moment is the number of the newest mapping then.
 */
#ifndef GPUMEMTRACE_LIVE_STACKS_CODE_EVENTS_H
#define GPUMEMTRACE_LIVE_STACKS_CODE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

#define CODE_EVENTS_MAX 4096     /* kept of a process; older ones are forgotten */

struct code_event {
	uint64_t start, end;
	uint32_t number;
	bool has_file;
};

struct code_events {
	struct code_event *list; /* by rising number, without a gap */
	size_t count;
	uint32_t floor;          /* mappings up to this number are not known */
	uint32_t last;           /* number of the newest one that is known; 0: none came yet */
};

void code_events_add(struct code_events *events, const struct gmt_code_mapped *mapped);
void code_events_fini(struct code_events *events);

/* Whether all mappings up to a number have come. The first stack of a process has the number 1. */
bool code_events_reach(const struct code_events *events, uint32_t number);

/* Whether an address may have become other code after moment `from`, up to moment `to`: also if a mapping between them
 * is not known. `has_file`: the code at the address is a file's; for code without a file, mappings without one do not
 * count. Moment 0 is not known, and counts as every moment. */
bool code_events_changed(const struct code_events *events, uint32_t from, uint32_t to, uint64_t address,
			 bool has_file);

#endif
