/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The phases of a PyTorch program, found from ranges and from calls of autograd's engine (gmt_fw_range), and what each
 * of its devices had allocated in a phase.
 *
 * Each thread has its own ranges. A backward belongs to the thread that asked for the backward and waits. Autograd's
 * threads do the work: an event of another thread on a device, during the backward of the device's owner, is a part of
 * that backward. Nothing reports the end of a backward: the backward is over when its thread begins or ends a range, or
 * allocates. (A node on the CPU's queue may make that allocation inside the backward. If autograd's threads go on after
 * the allocation, the backward goes on, too.) Frees until then, or until the next phase, count to the backward.
 *
 * An iteration of a device ends with the first optimizer step after a backward. Where steps are inside the backward,
 * the iteration ends with the backward.
 */
#ifndef GPUMEMTRACE_CORE_FRAMEWORK_PHASES_H
#define GPUMEMTRACE_CORE_FRAMEWORK_PHASES_H

#include <stdbool.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

#include "core/framework/category.h"
#include "core/framework/phase_line.h"

#define PHASES_OPEN_MAX 16       /* nested ranges of a thread */
#define PHASES_THREADS_MAX 64    /* threads that ever began a range */

struct phase_open {
	uint64_t object;         /* 0: a backward */
	uint32_t span;
	uint32_t stack_id;       /* of a backward: where the thread asked for it; 0: none */
	uint8_t phase;           /* enum gmt_training; GMT_TRAINING_COUNT: a range of the user's */
	uint8_t name;            /* number of the name; PHASES_NAMES_MAX: none */
	bool is_doubted;         /* of a backward: its thread has allocated since */
	uint64_t devices;        /* one bit for each device on which the range has begun: at once on the thread's own
				  * devices, on another device with the first block */
};

struct phase_thread {
	uint32_t tid;
	uint32_t depth;
	struct phase_open open[PHASES_OPEN_MAX];
};

struct phases {
	uint64_t now_ns;            /* of the newest record; the caller sets it */
	struct phase_line *lines;   /* by CUDA ordinal */
	unsigned int line_count;
	struct phase_thread *threads;
	unsigned int thread_count;
	uint32_t spans;             /* the newest number of a span; spans have even numbers */
	char (*names)[GMT_RANGE_NAME_BYTES];
	unsigned int name_count;
	uint64_t dropped;           /* ranges that are not followed, or have no name: there were too many */
};

void phases_fini(struct phases *p);           /* as at the beginning, but for what was dropped */

/* Growth that does not come in each iteration counts from the next one. */
void phases_restart(struct phases *p);

/* 0, -EINVAL, or -ENOENT: a kind of range that only a newer version knows. */
int phases_range(struct phases *p, const struct gmt_fw_range *rec);

/* A block of `delta` bytes came, or went (negative); `total` bytes are allocated now. Returns what the device did. */
struct training_moment phases_block(struct phases *p, unsigned int device, uint32_t tid, int64_t delta, uint64_t total);

/* The stack of the thread for whose backward the thread `tid` seems to work now; 0: none, or this is not certain. */
uint32_t phases_backward_stack(const struct phases *p, uint32_t tid);

/* The phase (enum gmt_training) that the device is in now, as far as is known; GMT_TRAINING_COUNT: none, as between an
 * optimizer's step and the next forward. Before the first backward a forward is none: nothing says that it is one. */
uint8_t phases_now(const struct phases *p, unsigned int device);

/* NULL: nothing is known of the device. */
const struct phase_line *phases_line(const struct phases *p, unsigned int device);

#endif
