/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One call record on its way through the ledger, and what the ledger keeps of each thread: the stack of current
 * contexts and the releases that may still fail.
 *
 * A release is applied when the call begins, because the driver may give out the address again before the call returns.
 * The thread keeps what was released, to be put back if the release fails (GMT_PHASE_UNDO).
 */
#ifndef GPUMEMTRACE_CORE_LEDGER_EVENT_H
#define GPUMEMTRACE_CORE_LEDGER_EVENT_H

#include <gpumemtrace/api.h>
#include <gpumemtrace/wire.h>

#include "core/ledger/delta.h"
#include "core/ledger/process_tables.h"

struct undo {
	bool valid;          /* the release can still be taken back */
	bool found;          /* there was memory to release; else the release counted as an anomaly ... */
	bool was_ended;      /* ... unless a call that may still fail has taken the memory along (ended_free()) */
	uint8_t op;          /* enum gmt_op */
	uint32_t seq;
	uint64_t key;
	union {
		struct {
			struct alloc alloc;
			struct hash *table;
			uint32_t opens;      /* imports at the address, before */
		};
		struct {
			uint64_t number;
			struct vmm_object object;
			uint8_t graph_kind;  /* enum graph_kind */
		};
		struct pool pool;
		struct stream_ended stream;
		struct {
			uint16_t popped;     /* the context that the call took off the thread's stack; 0: none */
			uint16_t unmade;     /* the context that is destroyed; 0: none */
			uint16_t detached;   /* the context that lost a use of cuCtxAttach; 0: none */
			uint8_t device;      /* the destroyed context's ordinal ... */
			uint8_t kind;        /* ... and enum context_kind */
			uint8_t released;    /* ordinal of the primary context that lost a reference; ORDINAL_NONE */
			bool has_dropped_own;/* what threads captured on their own streams is forgotten */
		};
	};
	struct vmm_unmapped *unmapped; /* grows as needed; the next release uses the memory again */
	struct ended *ended;           /* what went with a context (ends.h) */
	struct unbound *unbound;       /* bindings that went with what they were to (vmm_object.h) */
	uint32_t unmapped_count, ended_count, unbound_count;
	bool is_settled;               /* what went was given up: too much happened since (ended.h) */
};

/* Calls nest, so several releases of one thread can be in flight. */
#define THREAD_UNDOS 4

struct thread {
	uint16_t *stack;     /* current contexts, the newest last */
	uint32_t depth;
	bool capturing;      /* the thread's per-thread default stream is capturing ... */
	uint16_t captures_in;/* ... in this context */
	uint8_t next_undo;
	uint8_t keeps;       /* for so many further calls, undos keep what went with contexts; 0: none does */
	struct undo undos[THREAD_UNDOS];
};

struct event {
	struct process *proc;
	struct thread *thread;
	const struct gmt_call *call;
	enum gmt_op op;
	uint64_t ts_ns;
	uint64_t val[GMT_CALL_VALS];  /* missing ones are 0 */
	uint8_t unread;               /* bit i: val[i] could not be read */
	struct delta_ask ask;         /* operations that ask for memory fill it in */
};

static inline bool event_unread(const struct event *e, unsigned int val)
{
	return e->unread & (1u << val);
}

/* The context current to the event's thread; 0 unknown. */
static inline unsigned int context_current(const struct event *e)
{
	const struct thread *t = e->thread;

	return t->depth ? t->stack[t->depth - 1] : 0;
}

/* Room for one more release: the oldest one's, unless what went with a context is kept there. */
static inline struct undo *undo_room(struct thread *t)
{
	for (unsigned int i = 0; i < THREAD_UNDOS - 1 && t->undos[t->next_undo % THREAD_UNDOS].ended_count; i++)
		t->next_undo++;
	return &t->undos[t->next_undo++ % THREAD_UNDOS];
}

/* Room to keep what the event releases. */
static inline struct undo *undo_push(struct event *e, uint64_t key)
{
	struct undo *u = undo_room(e->thread);

	u->valid = true;
	u->found = u->was_ended = false;
	u->op = e->op;
	u->seq = e->call->seq;
	u->key = key;
	u->opens = 0;
	u->unbound_count = u->ended_count = 0;
	u->is_settled = false;
	return u;
}

#endif
