/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The verdict about a request that failed: why memory ran out, what was ruled out, where the memory is, what to do.
 * Every part follows from the numbers of the picture (oom_view.h); sinks have the sentences. The thresholds are those
 * of findings (thresholds.h).
 *
 * A cause that was found has bytes without which the request would have fit. Of several causes, the cause with the
 * most bytes comes first. Without any, the last causes of the list say what is known.
 */
#ifndef GPUMEMTRACE_CORE_VIEW_OOM_VERDICT_H
#define GPUMEMTRACE_CORE_VIEW_OOM_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/view/finding.h"

struct view_line_row;

/*
 * X(NAME, name)
 *
 * LEAK           `bytes` of `whole` in tensors have outlived their iteration, and `count` of the last `iterations`
 *                iterations left `each` more, on average. The guess is that nobody needs them. `bytes` may be less than
 *                what was left
 * GROWTH         memory of lines has grown by `bytes` in both halves of the time since since_ns; whole: of all lines;
 *                line: that has grown most. A line may have grown by other stacks at the end: see oom_growth_of()
 * STATE          optimizers keep `bytes`, far more than what Adam keeps for `whole` bytes of parameters
 * FRAGMENTED     `bytes` are cached in pieces, of `whole` reserved; each: the largest piece, 0: not known
 * NEIGHBOUR      the other process of `row` holds `bytes` of `whole`
 * UNTRACED       the driver and processes that are not traced hold `bytes` of `whole`
 * CACHE          `bytes` of `whole` reserved are cached by the framework, but the request was not the framework's
 * CONTEXT        the CUDA context takes `bytes`, more than usual
 * LAUNCHES       kernels' local memory, streams and graphs take `bytes`, more than usual
 * POOL           CUDA's memory pools keep `bytes` that no allocation uses
 * REQUEST        the request was for `bytes` of `whole`, the memory of the GPU (0: not known): more than half. Where
 *                the GPU is not known, the request is larger than any GPU, and `whole` is the largest GPU's memory
 * ACTIVATIONS    `bytes` of `whole` in tensors are there for one iteration alone
 * LIMIT          the framework's own limit refused the request: no driver call had failed, or, where records
 *                were lost, none is known to have failed. bytes: reserved; 0: not known
 * OTHER_LIMIT    `bytes` of `whole` were free, enough for the request or, if it has no size, for a usual context
 * UNEXPLAINED    traced processes hold `bytes` of `whole`, which leaves room, as above
 * HOST           the host could not provide the memory; bytes: host memory that traced processes hold
 * FULL           `bytes` of `whole` are held (whole 0: not known), and none of the above holds
 * UNKNOWN        there is no picture, and no retry succeeded
 */
#define OOM_CAUSES(X)                                                             \
	X(LEAK, "leak") X(GROWTH, "growth") X(STATE, "optimizer_state")           \
	X(FRAGMENTED, "fragmentation")                                            \
	X(NEIGHBOUR, "neighbour") X(UNTRACED, "untraced") X(CACHE, "cache")       \
	X(CONTEXT, "context") X(LAUNCHES, "launches")                             \
	X(POOL, "pool") X(REQUEST, "request")                                     \
	X(ACTIVATIONS, "activations") X(LIMIT, "framework_limit")                 \
	X(OTHER_LIMIT, "other_limit") X(UNEXPLAINED, "unexplained")               \
	X(HOST, "host_memory") X(FULL, "full") X(UNKNOWN, "unknown")
enum oom_cause_kind {
#define X(name, json) OOM_CAUSE_##name,
	OOM_CAUSES(X)
#undef X
	OOM_CAUSE_COUNT
};

struct oom_cause {
	enum oom_cause_kind kind;
	enum finding_ground ground;
	uint64_t bytes, whole, each;
	uint32_t count, iterations;
	uint64_t since_ns;
	uint64_t again;          /* LEAK: after so many iterations of another run memory is full again; 0: not known */
	uint64_t again_ns;       /* GROWTH: after so long; likewise */
	const struct view_line_row *line; /* the view's; NULL: the cause is not about a line */
	size_t row;              /* in the view's rows: who holds the memory; OOM_VIEW_NONE */
	bool is_minor;           /* true, but too little to come first */
};

/*
 * X(NAME, cause): what rules a cause out.
 *
 * FEW_PIECES     `bytes` are cached, less than the request or than a share that matters
 * NO_OTHER       no other traced process holds memory of the GPU, and `bytes` are all that others and the driver hold
 * NO_TRACED      no other traced process does; whether others do is not known
 * SMALL_OTHERS   `count` others hold `bytes`: with the most that may be free, less than the request
 * OTHERS_APART   no driver call had failed, so memory of others did not matter
 * NOTHING_LEFT   the last three iterations did not each leave more than the iteration before
 * LITTLE_KEPT    `bytes` of tensors have outlived their iteration
 * USUAL_CONTEXT  the CUDA context takes `bytes`, as usual
 */
#define OOM_REASONS(X)                                                            \
	X(FEW_PIECES, FRAGMENTED) X(NO_OTHER, NEIGHBOUR) X(NO_TRACED, NEIGHBOUR)  \
	X(SMALL_OTHERS, NEIGHBOUR) X(OTHERS_APART, NEIGHBOUR)                     \
	X(NOTHING_LEFT, LEAK) X(LITTLE_KEPT, LEAK) X(USUAL_CONTEXT, CONTEXT)
enum oom_reason_kind {
#define X(name, cause) OOM_REASON_##name,
	OOM_REASONS(X)
#undef X
	OOM_REASON_COUNT
};

struct oom_reason {
	enum oom_reason_kind kind;
	uint64_t bytes;
	uint32_t count;
};

/* X(NAME, name): what to do. After a retry that succeeded this is NOTHING, whatever the cause. */
#define OOM_REMEDIES(X)                                                           \
	X(BLOCK_STACKS, "trace_block_stacks") X(FROM_START, "trace_from_start")   \
	X(TRACE_ALL, "trace_all")                                                 \
	X(TRACE_OTHER, "trace_other") X(FIND_KEEPER, "find_keeper")               \
	X(FIND_GROWTH, "find_growth") X(NOT_BATCH, "batch_only_delays")           \
	X(NOT_RESTART, "restart_only_delays")                                     \
	X(FIND_STATE, "find_optimizer")                                           \
	X(EXPANDABLE, "expandable_segments") X(FEW_SIZES, "few_sizes")            \
	X(END_OTHER, "end_other") X(LIST_OTHERS, "list_others")                   \
	X(END_NEIGHBOUR, "end_neighbour")                                         \
	X(EMPTY_CACHE, "empty_cache") X(LEAVE_ROOM, "leave_room")                 \
	X(CONTEXT_LIMITS, "context_limits") X(TRIM_POOL, "trim_pool")             \
	X(CHECK_SIZE, "check_size") X(SMALLER_BATCH, "smaller_batch")             \
	X(RECOMPUTE, "recompute_activations") X(SHARD, "shard_model")             \
	X(RAISE_LIMIT, "raise_framework_limit") X(CHECK_LIMITS, "check_limits")   \
	X(LESS_PINNED, "less_pinned") X(HOLD_LESS, "hold_less")                   \
	X(EARLIER, "see_earlier_failures") X(NOTHING, "nothing")                  \
	X(KEEP_CACHE, "keep_cache")
enum oom_remedy {
#define X(name, json) OOM_DO_##name,
	OOM_REMEDIES(X)
#undef X
	OOM_DO_COUNT
};

#define OOM_LINES_MAX 3

/* A line of the program, and the memory of all its stacks. */
struct oom_line {
	const struct view_line_row *line; /* the view's */
	uint64_t bytes;
	uint8_t purpose;         /* 1 + enum gmt_category; 0: not told */
	bool has_grown;          /* in both halves of the time since the process began, or a mark */
};

struct oom_verdict {
	/* Lines of the program, by their symbols in view.symbols: that asked, and that waits for the backward that
	 * asked. VIEW_NO_FRAME: not known. */
	uint32_t asked_symbol, waiting_symbol;
	size_t cause_count, reason_count, line_count, remedy_count;
	struct oom_cause causes[OOM_CAUSE_COUNT];  /* the first is the verdict; none: no request failed, or a
						    * retry succeeded, and there is no picture */
	struct oom_reason reasons[OOM_REASON_COUNT];
	struct oom_line lines[OOM_LINES_MAX];      /* of the row of the first cause, greatest first */
	bool are_tensors;        /* the lines asked for tensors of a framework, not for memory of the driver */
	enum oom_remedy remedies[OOM_DO_COUNT];    /* in order */
};

/* What all iterations of a leak have left; 0: no memory has so many bytes. */
static inline uint64_t oom_left_by(uint64_t each, uint32_t count)
{
	uint64_t bytes;

	return __builtin_mul_overflow(each, (uint64_t)count, &bytes) ? 0 : bytes;
}

const char *oom_cause_name(enum oom_cause_kind kind);
enum oom_cause_kind oom_reason_cause(enum oom_reason_kind kind);
const char *oom_remedy_name(enum oom_remedy remedy);

#endif
