/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Findings: what the numbers of a view mean for the person who reads them. Each finding has a kind, its numbers, and a
 * ground; sinks have the sentences (finding_text.h). Findings say nothing that the records do not show.
 */
#ifndef GPUMEMTRACE_CORE_VIEW_FINDING_H
#define GPUMEMTRACE_CORE_VIEW_FINDING_H

#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/terms.h>

struct oom_why;
struct view;
struct view_line_row;

/* How sure a finding is. RECORDED: the records say so. FOLLOWS: the numbers imply it. GUESS: a rule of experience. */
#define FINDING_GROUNDS(X) X(RECORDED, "recorded") X(FOLLOWS, "follows") X(GUESS, "guess")

/*
 * X(NAME, name, ground): the kinds, in the order in which people should read them. `name` is the rule's name, too.
 *
 * OUT_OF_MEMORY  count: requests that failed for good. why: what the newest one with a picture was about: it was for
 *                `bytes` (0: of no size), and `part` are the cause's
 * LEAK           at least `count` of the last `iterations` iterations left `bytes` for good, on average; all of them:
 *                each left more than the iteration before. part: live bytes that have outlived their iteration.
 *                left, left_ns: iterations and time until the GPU is full. stopped_ns: when the last iteration ended,
 *                where none came for long. line: that keeps most of these bytes
 * GROWTH         the memory of `line` was more in the middle of the time since since_ns than at its beginning, and is
 *                more again now, by `bytes` in all. left_ns: time until the GPU is full if it grows on
 * KEPT           `bytes` of tensors have outlived their iteration, and no leak was found. line: that keeps most of
 *                them
 * STATE          optimizers keep `bytes`, far more than what Adam keeps for `part` bytes of parameters. line: that
 *                keeps most of them
 * NEIGHBOUR      the GPU is nearly full, and process `other` holds `bytes` of it, more than this process
 * UNTRACED       of a GPU: `bytes` are used by processes that are not traced
 * FRAGMENTED     memory ran out, and `bytes` are cached by the framework, of these the largest piece is `part`
 * CACHED         `bytes` are cached by the framework: reserved, and more than all tensors had at any moment of the last
 *                TORCH_RECENT_NS. Of a process that has ended: more than all tensors ever had. part: bytes that the
 *                framework has reserved, at most
 * CONTEXT        the CUDA context takes `bytes`, more than usual
 * LAUNCHES       kernels' local memory, streams and graphs take `bytes`, more than usual
 * POOL_RESERVE   `bytes` are kept by CUDA's memory pools, and no allocation uses them
 * BEFORE_ATTACH  `bytes` of `part` were allocated before the attach: nobody saw by whom
 */
#define FINDINGS(X)                                                               \
	X(OUT_OF_MEMORY, "out_of_memory", RECORDED)                               \
	X(LEAK, "leak", GUESS)                                                    \
	X(GROWTH, "growth", GUESS)                                                \
	X(KEPT, "kept", GUESS)                                                    \
	X(STATE, "optimizer_state", GUESS)                                        \
	X(NEIGHBOUR, "neighbour", RECORDED)                                       \
	X(UNTRACED, "untraced", FOLLOWS)                                          \
	X(FRAGMENTED, "fragmented", FOLLOWS)                                      \
	X(CACHED, "cached", RECORDED)                                             \
	X(CONTEXT, "context", RECORDED)                                           \
	X(LAUNCHES, "launches", RECORDED)                                         \
	X(POOL_RESERVE, "pool_reserve", FOLLOWS)                                  \
	X(BEFORE_ATTACH, "before_attach", RECORDED)

enum finding_ground {
#define X(name, json) FINDING_##name,
	FINDING_GROUNDS(X)
#undef X
};
enum finding_kind {
#define X(name, json, ground) FINDING_OF_##name,
	FINDINGS(X)
#undef X
	FINDING_KIND_COUNT
};

#define FINDING_NONE SIZE_MAX
#define FINDING_LEFT_UNKNOWN UINT64_MAX

struct finding {
	enum finding_kind kind;
	size_t proc;             /* in view.procs; FINDING_NONE: of a GPU */
	size_t row;              /* in its rows; FINDING_NONE: of the whole process */
	int gpu;                 /* in view.gpus; VIEW_GPU_UNKNOWN */
	uint64_t bytes, part, count;
	uint32_t iterations;
	enum gmt_category category; /* of what stays: of LEAK, KEPT and STATE */
	uint64_t left, left_ns;  /* FINDING_LEFT_UNKNOWN */
	uint64_t since_ns;
	uint64_t stopped_ns;     /* 0: it goes on, as far as is known */
	size_t other;            /* in view.procs */
	const struct oom_why *why; /* the view's; NULL: not known, or another finding */
	const struct view_line_row *line; /* the view's; NULL: the lines are not known */
};

const char *finding_name(enum finding_kind kind);
enum finding_ground finding_ground(enum finding_kind kind);
const char *finding_ground_name(enum finding_ground ground);

/* Finds what the view shows, sorted by kind, then by process, then by row. The caller frees the array. */
struct finding *findings_make(const struct view *view, size_t *count);

#endif
