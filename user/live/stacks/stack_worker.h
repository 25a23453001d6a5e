/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The work behind stacks: what traced processes have mapped, the tables for it, and the names of the
 * stacks that came. All of one thread; stack_thread.h has that thread.
 *
 * Order: Python's names first, as a process may end and take its objects along; then what processes have
 * mapped; then tables, one at a time; last the names of native frames, which can be found when the process
 * is gone, too. A stack that was cut off for want of a table waits until it is there, and is walked again
 * from the copy of its memory.
 */
#ifndef GPUMEMTRACE_LIVE_STACKS_STACK_WORKER_H
#define GPUMEMTRACE_LIVE_STACKS_STACK_WORKER_H

#include <stddef.h>
#include <stdint.h>

#include "live/stacks/bpf_tables.h"
#include "live/stacks/map_publisher.h"
#include "live/stacks/record_list.h"
#include "live/stacks/stack_names.h"

struct stackwork;

struct stacking_options {
	enum gmt_stack_mode mode;
	uint32_t depth;              /* native frames of a stack */
	struct stack_maps maps;
	const char *cache;           /* directory for unwinding tables, NULL: none */
};

enum stackwork_due {
	DUE_NOT,
	DUE_SOON,                    /* it has mapped something: before long */
	DUE_NOW,
};

/* `put` gets records for the stream, `say` what a person is to know of a process, once. */
typedef void (*stackwork_say)(void *arg, uint32_t tgid, const char *text);
struct stackwork *stackwork_new(const struct stacking_options *options, naming_put put, stackwork_say say, void *arg);
void stackwork_free(struct stackwork *work);

/* A process, known so far or not, is to be looked at. */
void stackwork_mark(struct stackwork *work, uint32_t tgid, enum stackwork_due due);

/* Records of the kernel that stacking_see() let through. */
void stackwork_take(struct stackwork *work, const struct records *records);

/* Does a part of what is due, up to one table. Returns for how long nothing is, in nanoseconds. */
uint64_t stackwork_step(struct stackwork *work);

void stackwork_stats(const struct stackwork *work, struct tables_stats *stats);

/* How many stacks wait for tables or names. */
size_t stackwork_waiting(const struct stackwork *work);

#endif
