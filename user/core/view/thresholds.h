/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of thresholds from which numbers are worth a sentence: of findings (finding.h) and of verdicts. */
#ifndef GPUMEMTRACE_CORE_VIEW_THRESHOLDS_H
#define GPUMEMTRACE_CORE_VIEW_THRESHOLDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/amounts.h"

/* Shares are in percent. */
enum {
	LEAK_ITERATIONS = 5,      /* fewer may be caches that fill up */
	LEAK_KEPT_SHARE = 50,     /* of growth that comes in some iterations: else other memory took the place of it */
	LEAK_SHARE = 1,           /* of the most that was allocated, over all these iterations */
	GROWTH_SHARE = 5,         /* of what lives */
	KEPT_SHARE = 10,          /* of what is allocated */
	ADAM_SHARE = 200,         /* of the parameters */
	STATE_SHARE = 350,        /* of the parameters. Adam keeps 200, AMSGrad 300 */
	NEIGHBOUR_FREE_SHARE = 10, /* of the GPU: with more free, nobody is in the way */
	UNTRACED_SHARE = 10,      /* of the GPU */
	FRAGMENTED_SHARE = 25,    /* of the reserved bytes are cached, and of these the largest piece has less */
	CACHED_SHARE = 50,        /* of the reserved bytes */
	POOL_SHARE = 25,          /* of what the driver gave */
	BEFORE_SHARE = 50,        /* of what nvidia-smi shows */
	/* of the ranks of one job: with the same work they hold the same tensors, but for the shapes of their data */
	RANK_SHARE = 5,           /* of what the median rank holds */
	/* of verdicts alone; see also GROWN_BYTES */
	PIECES_SHARE = 5,         /* of the reserved bytes: with fewer in the cache, the next request fails, too */
	REQUEST_SHARE = 50,       /* of the GPU, in one request */
	ACTIVATIONS_SHARE = 50,   /* of what is allocated */
	ENDED_SHARE = 5,          /* of the allocations of a line: where no more have ended, all its memory is kept */
	DRIVER_SHARE = 2,         /* of the GPU: the driver itself takes that much */
};
#define STOPPED_NS 10000000000ull /* without an iteration, and as long as many iterations: a pause is shorter */
#define STOPPED_ITERATIONS 20
#define THRESHOLD_MIB (1ull << 20)
#define LEAK_BYTES THRESHOLD_MIB
#define GROWTH_BYTES (8 * THRESHOLD_MIB) /* over all the traced time */
/* A reserve grows by segments of 2 or 20 MiB (PyTorch 2.11), also where no tensor stays. */
#define GROWTH_RESERVE_BYTES (64 * THRESHOLD_MIB)
#define GROWTH_NS 2000000000ull   /* the first half of the time: less is a start-up */
#define GROWTH_LATER_NS 500000000ull /* the second half */
#define GROWN_BYTES THRESHOLD_MIB /* of a verdict: less than GROWTH_BYTES, as the request that failed is known */
/* Ranks: more than a segment of PyTorch's allocator (20 MiB; 2.11), which one rank may need and another not. */
#define RANK_BYTES (32 * THRESHOLD_MIB)
#define LEFT_ITERATIONS_MOST 1e12
#define LEFT_NS_MOST 31536000e9   /* a year: nobody waits for a GPU that is full later */
#define KEPT_BYTES (16 * THRESHOLD_MIB)
#define STATE_BYTES (16 * THRESHOLD_MIB)
#define FRAGMENTED_BYTES (256 * THRESHOLD_MIB)
#define CACHED_BYTES (1024 * THRESHOLD_MIB)
#define CONTEXT_BYTES (1024 * THRESHOLD_MIB) /* usual: 100 to 600 MiB */
#define LAUNCH_BYTES (2048 * THRESHOLD_MIB) /* usual: up to 700 MiB with NCCL (H100, driver 580.159.04) */
/* The first kernels, streams and graphs of a program come in its first minute. */
#define GROWTH_DRIVER_NS 60000000000ull
/* NVML is asked about once a second: older numbers say little of the moment of a failure, like those long after. */
#define NVML_FRESH_NS 2000000000ull
/* Who holds a GPU changes less than how much is free, and the tracer may leave out five samples in a row. */
#define NEIGHBOURS_FRESH_NS 10000000000ull
#define USUAL_CONTEXT_BYTES (600 * THRESHOLD_MIB)
/* Bytes of a GPU that its driver keeps for page tables and the like. A request fits only if so much more is free.
 * Measured: with 2.19 MiB free, a request of 2 MiB failed (H100, driver 580.159.04). */
#define ROOM_SLACK (16 * THRESHOLD_MIB)
#define POOL_BYTES (256 * THRESHOLD_MIB)
#define BEFORE_BYTES (64 * THRESHOLD_MIB)

/* Whether bytes are at least `least`, and a share of the whole. */
static inline bool is_much(uint64_t bytes, uint64_t least, uint64_t whole, uint64_t percent)
{
	return bytes >= least && bytes >= share_of(whole, percent);
}

#endif
