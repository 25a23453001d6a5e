/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What records go through, live, in a replay and for a dump: the ledger, which decodes them, and the observers of what
 * it changes (delta.h), a row each in pipeline.c's table.
 */
#ifndef GPUMEMTRACE_CORE_PIPELINE_PIPELINE_H
#define GPUMEMTRACE_CORE_PIPELINE_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct frameworks;
struct history;
struct ledger;
struct ooms;

struct pipeline {
	struct ledger *ledger;
	struct frameworks *frameworks;
	struct ooms *ooms;           /* NULL: nobody watches requests that fail */
	struct history *history;     /* NULL: none is kept */
};

struct pipeline_options {
	bool watches_requests;       /* that fail: oom_requests.h */
	uint64_t history_events;     /* so many are kept (history.h); 0: there is no history */
	uint64_t history_ns;         /* no longer than so; 0: any time */
	bool keeps_ended;            /* also what processes held that have ended */
};

/* NULL: none of these. */
struct pipeline *pipeline_new(const struct pipeline_options *options);
void pipeline_free(struct pipeline *pl);   /* NULL is fine */

/* Takes in one record of `size` bytes. 0; -EINVAL: malformed, counted and otherwise ignored. */
int pipeline_apply(struct pipeline *pl, const void *record, size_t size);

#endif
