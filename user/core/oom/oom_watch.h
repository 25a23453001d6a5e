/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of oom_requests.h's work that all signs share: a thread whose request has failed is watched until all is
 * told about it. Each change of a watch's times wants an oom_set_due() after it.
 */
#ifndef GPUMEMTRACE_CORE_OOM_OOM_WATCH_H
#define GPUMEMTRACE_CORE_OOM_OOM_WATCH_H

#include "core/ledger/delta.h"
#include "core/oom/oom_state.h"

struct oom_watch {
	struct oom *oom;           /* rec is good to the end, the picture goes with the first that is queued */
	const struct process *p;
	uint32_t tid;
	uint8_t row;               /* ROW_NONE */
	uint8_t ordinal;           /* ORDINAL_NONE */
	uint8_t told;              /* outcome that the process's count has */
	uint64_t active_ns;        /* it last asked or freed */
	uint64_t live_at_first, live_at_picture;
};

/* NULL: none. */
struct oom_watch *oom_watch_find(const struct ooms *o, const struct process *p, uint32_t tid);
/* What the delta's thread asks for now. is_next_try: that which it asked for last, which is watched; else that is
 * over, and a new one is watched from now on, without failures and undecided. NULL: too many are watched. */
struct oom_watch *oom_watch_try(struct ooms *o, bool is_next_try, const struct delta *d, uint8_t row);
/* Puts the last one in its place. */
void oom_watch_forget(struct ooms *o, struct oom_watch *w);

/* More failures or a success can still belong to it: silence may have been waiting for the GPU. */
bool oom_watch_is_open(const struct oom_watch *w);
/* One more try of `bytes` has failed: it is open again. */
void oom_watch_failed(struct ooms *o, struct oom_watch *w, const struct delta *d, uint64_t bytes);
/* A framework has reported it. */
void oom_watch_reported(const struct ooms *o, const struct oom_watch *w, uint64_t ts_ns);
/* Takes a picture for it, unless there were too many of late. */
void oom_watch_picture(struct ooms *o, struct oom_watch *w, const struct delta *d);
/* Tells it, and forgets it if nothing more can come of it. */
void oom_watch_decide(struct ooms *o, struct oom_watch *w, enum gmt_oom_outcome outcome, enum gmt_oom_sign sign,
		      uint64_t ts_ns);

/* The thread has gone on with something else: tells that, if it is open, and forgets it. */
void oom_watch_leave(struct ooms *o, struct oom_watch *w, uint64_t ts_ns);

/* The stream is over: tells it, if it is open, and forgets it. */
void oom_watch_end(struct ooms *o, struct oom_watch *w);

/* ---- refusals outside of all probed calls: oom_refused.c ---- */

/* DELTA_DRIVER_ALLOC: the kernel driver refused memory to the process, or gave some. */
void ooms_driver(struct ooms *o, const struct delta *d);
/* The thread does something that shows that it is in no call without a probe. */
void ooms_left(struct ooms *o, const struct process *p, uint32_t tid, uint64_t ts_ns);

/* ---- time ---- */

/* When time tells something about it, if nothing else does. */
uint64_t oom_watch_due(const struct oom_watch *w);
void oom_set_due(struct ooms *o);
/* Bytes that the process has of the row's memory; ROW_NONE: of the host's. */
uint64_t oom_row_live(const struct process *p, uint8_t row);

#endif
