/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The way of records, live, in a replay and for a dump: the ledger decodes records, and observers see what the ledger
 * changes (delta.h). Each observer is a row of pipeline.c's table.
 */
#ifndef GPUMEMTRACE_CORE_PIPELINE_PIPELINE_H
#define GPUMEMTRACE_CORE_PIPELINE_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct frameworks;
struct history;
struct instants;
struct kept_lives;
struct ledger;
struct life_taker;
struct lives;
struct ooms;
struct timeline;

struct pipeline {
	struct ledger *ledger;
	struct frameworks *frameworks;
	struct ooms *ooms;           /* NULL: requests that fail are not watched */
	struct history *history;     /* NULL: none is kept */
	struct timeline *timeline;   /* NULL: likewise */
	struct lives *lives;         /* NULL: nobody takes them */
	struct kept_lives *kept_lives; /* NULL: none is kept */
	struct instants *instants;   /* NULL: likewise */
};

struct pipeline_options {
	bool watches_requests;       /* watches requests that fail (oom_requests.h) */
	uint64_t history_events;     /* the most that are kept (history.h); 0: there is no history */
	uint64_t history_ns;         /* how long events are kept; 0: any time */
	bool history_of_dumps;       /* only what dumps have is kept: a recording costs nothing */
	bool keeps_ended;            /* keeps also what ended processes held */
	bool keeps_lives;            /* keeps the lives that are shown one by one (kept_lives.h) */
	bool keeps_all_lives;
	bool keeps_instants;         /* keeps where memory lay at peaks and failed requests (instants.h) */
	uint64_t timeline_points;    /* the room for memory over time (timeline.h); 0: there is no timeline */
};

/* options: NULL for none of the options. */
struct pipeline *pipeline_new(const struct pipeline_options *options);
void pipeline_free(struct pipeline *pl);   /* NULL is fine */

/* Before the first record: from here on the taker gets each life and call (lives.h), until the pipeline is freed. */
void pipeline_tell(struct pipeline *pl, const struct life_taker *taker);

/* Takes in one record of `size` bytes. 0; -EINVAL: malformed, counted and otherwise ignored. */
int pipeline_apply(struct pipeline *pl, const void *record, size_t size);

#endif
