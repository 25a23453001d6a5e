/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The work of the stack thread (stack_thread.h): the mappings of traced processes, their unwinding tables, and the
 * names of the stacks that came.
 *
 * Order: Python's names come first, as they are gone when the process ends. Then mappings are read, and tables built,
 * one at a time. The names of native frames come last, as they can be found after the end of the process. A stack that
 * was cut off because a table was missing waits for the table, and is walked again from the copy of its memory.
 */
#ifndef GPUMEMTRACE_LIVE_STACKS_STACK_WORKER_H
#define GPUMEMTRACE_LIVE_STACKS_STACK_WORKER_H

#include <stddef.h>
#include <stdint.h>

#include "live/stacks/bpf_tables.h"
#include "live/stacks/map_publisher.h"
#include "live/stacks/record_list.h"
#include "live/stacks/stack_names.h"
#include "live/stacks/stackwork_calls.h"

struct parser;
struct stackwork;

struct stacking_options {
	enum gmt_stack_mode mode;
	uint32_t depth;              /* native frames of a stack */
	struct stack_maps maps;
	const char *cache;           /* directory for unwinding tables, NULL: none */
	struct parser *parser;       /* reads the processes' files; must stay */
};

struct stackwork *stackwork_new(const struct stacking_options *options, const struct stackwork_calls *calls);
void stackwork_free(struct stackwork *work);

/* Asks to read a process, which need not be known. */
void stackwork_mark(struct stackwork *work, uint32_t tgid, enum stackwork_due due);

/* Records of the kernel that stacking_see() let through. */
void stackwork_take(struct stackwork *work, const struct records *records);

/* Does a part of the work, up to one table. Returns how long no more work is due, in nanoseconds: STACKWORK_IDLE_NS at
 * most. */
#define STACKWORK_IDLE_NS 1000000000ULL
uint64_t stackwork_step(struct stackwork *work);

/* Ends the processes that read files; from GMT_SHED_NAMES on, forgets all names. */
void stackwork_shed(struct stackwork *work, enum gmt_shed step);

void stackwork_stats(const struct stackwork *work, struct tables_stats *stats);

/* How many stacks wait for tables or names. */
size_t stackwork_waiting(const struct stackwork *work);
/* How many stacks have got names so far. Any thread may ask. */
uint64_t stackwork_named(const struct stackwork *work);

#endif
