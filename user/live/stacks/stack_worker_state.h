/* SPDX-License-Identifier: BSD-2-Clause */
/* What the stack worker knows of each process. */
#ifndef GPUMEMTRACE_LIVE_STACKS_STACK_WORKER_STATE_H
#define GPUMEMTRACE_LIVE_STACKS_STACK_WORKER_STATE_H

#include "base/hash.h"
#include "live/stacks/address_space.h"
#include "live/stacks/copies.h"
#include "live/stacks/record_list.h"
#include "live/stacks/stackwork_calls.h"
#include "live/stacks/turns.h"

struct worked {
	struct space space;
	uint32_t user;
	enum stackwork_due due;      /* it may have mapped something */
	uint64_t first_ns;           /* when it was read first */
	uint64_t read_ns;            /* ... and last */
	uint64_t took_ns;            /* the last reading */
	uint64_t looked_ns;          /* when worked_is_lost() looked last */
	uint64_t built_ns;           /* when a table was built for it last */
	uint64_t listed_ns;          /* when BPF got a list of mappings last */
	bool is_stale;               /* BPF does not have all tables that exist */
	bool has_ended;              /* kept for the stacks that wait */
	bool is_cut;                 /* it had more mappings than are used */
	struct records waiting;      /* STACK and STACK_COPY, until there are tables for them */
	uint64_t waiting_ns;         /* when the newest stack of them was taken; 0: there is none */
	struct records unnamed;      /* STACK, from `named` on */
	size_t named;                /* bytes */
};

struct stackwork {
	enum gmt_stack_mode mode;
	uint32_t depth;
	struct stackwork_calls calls;
	struct parse_client *client;
	struct turns turns;
	struct hash processes;       /* tgid -> struct worked * */
	struct publisher *publisher;
	struct tables *tables;
	struct naming *naming;
	size_t waiting;              /* stacks without a name */
	struct copies_room copies;   /* in the processes' `waiting` */
	uint64_t named;              /* stacks with one; other threads read this */
	uint32_t unreadable;         /* processes whose files may not be opened */
	uint32_t cut;                /* processes with more mappings than are used */
};

/* How long after a reading the process is read again. */
uint64_t worked_period(const struct worked *worked);
/* Whether BPF may still tell of code that was mapped before the last reading: its record is in the ring, or lost. */
bool worked_awaits_events(const struct worked *worked);
/* Whether a process is gone whose end nobody has told: BPF tells the ends of targets, and with -a a process that maps a
 * library is read before it is one. Looks at times, and answers false in between. */
bool worked_is_lost(struct worked *worked);
/* Whether a process is gone for long, and no record of its end has come. */
bool worked_is_over(const struct worked *worked);

#endif
