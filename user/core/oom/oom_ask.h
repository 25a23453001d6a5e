/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much a call that failed had asked for: what its arguments say (delta.h); of a run of handles all of them; and
 * where they say nothing (contexts, modules, graphs, streams), what the kernel driver refused meanwhile on its thread.
 *
 * A refusal is no error by itself: libcuda may try again, or another way.
 */
#ifndef GPUMEMTRACE_CORE_OOM_OOM_ASK_H
#define GPUMEMTRACE_CORE_OOM_OOM_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

#include "core/ledger/delta.h"

struct ooms;

/* Memory that the kernel driver did not give. */
struct oom_refusal {
	uint64_t bytes;      /* 0: none so far */
	uint32_t seq;        /* of the call that it was refused in, and which function that was; 0: in none */
	uint32_t stack_id;
	uint16_t api;
	uint8_t row;
};

struct oom_thread {
	const struct process *p;
	uint32_t created_count; /* handles created in a run, and not mapped yet: the pieces of one request */
	uint64_t created_bytes, created_each, created_ts_ns;
	struct oom_refusal refused; /* the newest */
};

/* A thread of the process, a new one if need be. Good until the next is asked for. */
struct oom_thread *oom_thread_of(struct ooms *o, const struct process *p, uint32_t tid);

/* A handle was created: one of a run that is not mapped yet. A request is for all of the run. */
void oom_handle_created(struct oom_thread *t, uint64_t bytes, uint64_t ts_ns);
void oom_forget_run(struct oom_thread *t);

/* What the failed call was for; in it the run and what the kernel driver refused. */
struct delta_ask oom_ask_of_call(const struct oom_thread *t, const struct delta_call *call, uint64_t ts_ns);
/* What was refused in it last; NULL: nothing. */
const struct oom_refusal *oom_refused_in(const struct oom_thread *t, const struct gmt_call *call);

/* Keeps in mind what the kernel driver refused; and that as a request of no class. */
void oom_note_refusal(struct oom_thread *t, const struct delta_driver *driver);
struct delta_ask oom_ask_of_refusal(const struct oom_thread *t);

#endif
