/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The steps that all signs (oom_requests.h) share: a thread whose request has failed is watched until everything is
 * known about the request.
 */
#ifndef GPUMEMTRACE_CORE_OOM_OOM_WATCH_H
#define GPUMEMTRACE_CORE_OOM_OOM_WATCH_H

#include "core/ledger/delta.h"
#include "core/oom/oom_state.h"

struct oom_watch {
	struct oom *oom;           /* the queue takes its picture; its rec stays to the end */
	const struct process *p;
	uint32_t tid;
	uint8_t row;               /* ROW_NONE */
	uint8_t ordinal;           /* ORDINAL_NONE */
	uint8_t told;              /* the outcome under which the request is counted */
	bool told_host;            /* and is counted as a request for memory of the host */
	uint64_t active_ns;        /* when the thread last asked or freed */
	uint64_t live_at_first;
};

/* NULL: none. */
struct oom_watch *oom_watch_find(const struct ooms *o, const struct process *p, uint32_t tid);
/* The watch of what the delta's thread asks for now. is_next_try: this is `newest`, the thread's watch (NULL: none).
 * Else that request is over, and a new watch begins, undecided and without failures. NULL: too many watches. */
struct oom_watch *oom_watch_try(struct ooms *o, struct oom_watch *newest, bool is_next_try, const struct delta *d,
				uint8_t row);
/* The last watch takes the place of the forgotten one. */
void oom_watch_forget(struct ooms *o, struct oom_watch *w);

/* More failures or a success can still belong to the request: a silent thread may have waited for the GPU. */
bool oom_watch_is_open(const struct oom_watch *w);
/* One more try of `bytes` has failed: the request is open again. */
void oom_watch_failed(struct ooms *o, struct oom_watch *w, const struct delta *d, uint64_t bytes);
/* A framework has reported the failure. */
void oom_watch_reported(const struct ooms *o, const struct oom_watch *w, uint64_t ts_ns);
/* Takes a picture, unless there were too many pictures recently. */
void oom_watch_picture(struct ooms *o, struct oom_watch *w, const struct delta *d);
/* Queues the request with its outcome, and forgets the watch if nothing more can become known. */
void oom_watch_decide(struct ooms *o, struct oom_watch *w, enum gmt_oom_outcome outcome, enum gmt_oom_sign sign,
		      uint64_t ts_ns);

/* The thread has gone on with something else: decides an open request, and forgets the watch. */
void oom_watch_leave(struct ooms *o, struct oom_watch *w, uint64_t ts_ns);

/* The stream is over: queues an open request, and forgets the watch. */
void oom_watch_end(struct ooms *o, struct oom_watch *w);

/* ---- how much memory a thread asks for: oom_ask.c ---- */

/* Memory that the kernel driver did not give. */
struct oom_refusal {
	uint64_t bytes;      /* 0: none so far */
	uint32_t seq;        /* number of the refused call; 0: the refusal was in no call */
	uint32_t stack_id;
	uint16_t api;        /* the call's function: enum gmt_api */
	uint8_t row;
};

struct oom_thread {
	const struct process *p;
	uint32_t created_count; /* handles of a run that are not mapped yet: the pieces of one request */
	uint64_t created_bytes, created_each, created_ts_ns;
	struct oom_refusal refused; /* the newest */
};

/* A thread of the process, which is added if need be. Good until the next call. */
struct oom_thread *oom_thread_of(struct ooms *o, const struct process *p, uint32_t tid);

/* Adds a created handle to the thread's run of handles that are not mapped yet. A request is for the whole run. */
void oom_handle_created(struct oom_thread *t, uint64_t bytes, uint64_t ts_ns);
void oom_forget_run(struct oom_thread *t);

/* The request of the failed call, with the run and with what the kernel driver refused. */
struct delta_ask oom_ask_of_call(const struct oom_thread *t, const struct delta_call *call, uint64_t ts_ns);
/* The newest refusal in the call; NULL: none. */
const struct oom_refusal *oom_refused_in(const struct oom_thread *t, const struct gmt_call *call);

/* Keeps in mind what the kernel driver refused. */
void oom_note_refusal(struct oom_thread *t, const struct delta_driver *driver);

/* ---- refusals outside of all probed calls: oom_refused.c ---- */

/* DELTA_DRIVER_ALLOC: the kernel driver refused memory to the process, or gave some. */
void ooms_driver(struct ooms *o, const struct delta *d);
/* The thread does something that shows that it is in no call without a probe. */
void ooms_left(struct ooms *o, const struct process *p, uint32_t tid, uint64_t ts_ns);

/* ---- time ---- */

/* When time alone decides about the request. */
uint64_t oom_watch_due(const struct oom_watch *w);
/* To be called when watches may have changed. */
void oom_set_due(struct ooms *o);
/* Bytes that the process has in the row; ROW_NONE: in host memory. */
uint64_t oom_row_live(const struct process *p, uint8_t row);

#endif
