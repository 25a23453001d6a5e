/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of requests for memory that failed: each request with its picture, and all of them. */
#ifndef GPUMEMTRACE_CORE_OOM_OOM_STATE_H
#define GPUMEMTRACE_CORE_OOM_OOM_STATE_H

#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

#include "base/hash.h"

struct deltas;
struct frameworks;
struct oom_gpu;
struct oom_kept;
struct ledger;

#define OOM_SILENCE_NS 5000000000ULL   /* PyTorch waits for the GPU between two tries */
#define OOM_FATAL_NS 10000000000ULL    /* a Python process takes its time to end */

/* One request and its picture, which says who held what. Each row owns the next rows[i].stacks stacks of the list. */
struct oom {
	struct gmt_oom rec;
	struct gmt_oom_row *rows;
	struct gmt_oom_stack *stacks;
	struct gmt_oom_waiting *waiting; /* of all rows */
	struct oom_gpu *gpus;            /* oom_gpus.h */
	size_t row_count, stack_count, waiting_count, gpu_count;
	uint64_t taken_ns, taken_live;   /* when the picture was taken; bytes of the asker's row then */
};

/* A thread whose request has failed, until all is known about the request. */
struct oom_watch;

#define OOM_QUEUE 32
#define OOM_PICTURES 16              /* one after the other; then one in each period (oom_watch.c) */

struct ooms {
	const struct ledger *ledger;
	const struct frameworks *frameworks;
	struct deltas *out;
	struct oom_watch *watches;
	size_t count;
	struct oom *queue[OOM_QUEUE];/* decided, oldest first, until they are taken */
	size_t queued;
	struct oom_kept *kept;       /* the newest of each process (oom_kept.h), oldest first */
	size_t kept_count;
	struct oom *reading;         /* is read from records, and not complete yet */
	struct hash threads;         /* struct oom_thread (oom_watch.h), by tid */
	struct hash counts;          /* struct oom_counts, by the number of the process */
	uint32_t last_number;
	uint32_t pictures;           /* how many may still be taken, as of pictures_ns */
	uint64_t pictures_ns;
	uint64_t dropped;            /* requests that were too many to watch, or to queue */
};

struct oom_counts {
	uint64_t of[GMT_OOM_OUTCOME_COUNT]; /* decided requests */
	uint64_t of_host[GMT_OOM_OUTCOME_COUNT]; /* those of them for memory of the host */
};

void oom_free(struct oom *oom);        /* NULL is fine */

/* ---- the queue ---- */

/* For ooms_take(): the queue owns the request now. */
void ooms_push(struct ooms *o, struct oom *oom);
/* The next request about which something is known; NULL: none. The caller owns the request. When more is known, the
 * same number may come again, with another outcome, and with a picture only if there is a newer one. */
struct oom *ooms_take(struct ooms *o);
/* Takes and frees all that is there. The newest request with a picture takes the place of *newest (NULL: none yet),
 * which the caller owns. */
void ooms_take_newest(struct ooms *o, struct oom **newest);

/* ---- pictures: oom_picture.c ---- */

/* Fills in the rows and stacks of this moment, on one GPU; GPU_UNKNOWN: on all GPUs. */
void oom_picture(struct oom *oom, const struct ooms *o, int gpu);
void oom_forget_picture(struct oom *oom);
/* A picture of all GPUs that belongs to no request. The caller owns the picture. */
struct oom *ooms_picture(const struct ooms *o);

/* ---- requests of a dump: oom_read.c ---- */

/* Takes in one record, well-formed by itself. 0; -EINVAL: the record does not fit the records before. A request takes
 * the place of the request before, which must be in the queue by then (ooms_finish). */
int ooms_read(struct ooms *o, const struct gmt_hdr *rec);

#endif
