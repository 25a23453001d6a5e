/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a PyTorch program is doing, told from ranges and from calls of autograd's engine (gmt_fw_range), and
 * what each of its devices had allocated meanwhile.
 *
 * Ranges are a thread's own. A backward belongs to the thread that asked for it and waits; its work is done by
 * autograd's threads: what another thread does to a device during the backward of the device's owner is part of
 * that. Its end is not told: it is over when its thread begins or ends a range, or allocates. (That allocation
 * may be the backward's own, by a node on the CPU's queue: when autograd's threads go on after it, so did the
 * backward.) What is freed until then, or until the next phase, is counted to the backward.
 *
 * An iteration of a device ends with the first optimizer step after a backward; where steps are inside the
 * backward, with that.
 */
#ifndef GPUMEMTRACE_CORE_FRAMEWORK_PHASES_H
#define GPUMEMTRACE_CORE_FRAMEWORK_PHASES_H

#include <stdbool.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

#include "core/framework/category.h"
#include "core/framework/phase_line.h"

#define PHASES_OPEN_MAX 16       /* ranges of a thread, one inside the other */
#define PHASES_THREADS_MAX 64    /* that ever began one */

struct phase_open {
	uint64_t object;         /* 0: a backward */
	uint32_t span;
	uint8_t phase;           /* enum gmt_training; GMT_TRAINING_COUNT: a range of the user's */
	uint8_t name;            /* number; PHASES_NAMES_MAX: none */
	bool is_doubted;         /* a backward whose thread has allocated since */
	uint64_t devices;        /* on which it has begun, by bit: those of its thread at once, others with a block */
};

struct phase_thread {
	uint32_t tid;
	uint32_t depth;
	struct phase_open open[PHASES_OPEN_MAX];
};

struct phases {
	struct phase_line *lines;   /* by CUDA ordinal */
	unsigned int line_count;
	struct phase_thread *threads;
	unsigned int thread_count;
	uint32_t spans;             /* the newest number: even ones are given out */
	char (*names)[GMT_RANGE_NAME_BYTES];
	unsigned int name_count;
	uint64_t names_dropped;     /* ranges of which nothing is kept: too many different ones */
};

void phases_fini(struct phases *p);           /* all zero again, as at the beginning */
uint64_t phases_bytes(const struct phases *p);

/* 0, -EINVAL, or -ENOENT: a kind of range that only a newer version knows. */
int phases_range(struct phases *p, const struct gmt_fw_range *rec);

/* A block of `delta` bytes came, or went (negative), and `total` are allocated now: what the device was doing. */
struct training_moment phases_block(struct phases *p, unsigned int device, uint32_t tid, int64_t delta, uint64_t total);

/* NULL: nothing is known of it. */
const struct phase_line *phases_line(const struct phases *p, unsigned int device);

#endif
