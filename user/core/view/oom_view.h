/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A request that could not be met as sinks see it: the request, a view of that moment (live bytes only: the
 * picture keeps no history), what has changed before it, and what follows from all that.
 */
#ifndef GPUMEMTRACE_CORE_VIEW_OOM_VIEW_H
#define GPUMEMTRACE_CORE_VIEW_OOM_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

#include "core/view/view.h"

struct history;
struct oom;
struct pipeline;

#define OOM_VIEW_NONE SIZE_MAX

/* What came and went in the last part of a history. */
struct history_change {
	uint64_t allocs, alloc_bytes, frees, freed_bytes;
};
struct history_changes {
	uint64_t since_ns;       /* of the first event; 0: there was none, and all counts are 0 */
	uint64_t until_ns;
	struct history_change blocks;    /* PyTorch's */
	struct history_change segments;  /* the driver's */
};

/* A process on a GPU, or its memory on none. */
struct oom_view_row {
	size_t proc;             /* in view.procs */
	size_t row;              /* in its rows; OOM_VIEW_NONE: its host memory */
	bool is_blocks;          /* no more than the stacks of PyTorch's blocks in it: they hold nothing besides */
	uint64_t held;           /* bytes, as near as is known: what the kernel gave, or NVML's word, or calls */
	bool has_nvml;
	uint64_t nvml, nvml_ts_ns;
	uint64_t rest_bytes;     /* of stacks that the picture does not have */
	uint32_t rest;
	uint64_t recent_ns;
	struct view_stacks recent; /* .grown: since recent_ns */
	struct view_stacks steady; /* those that have grown all along: leaks, maybe */
};

/* Who says what was free: CUDA; the GPU's memory less what is held, the most that it can be; the kernel driver, which
 * refused that much: it was less. */
enum oom_free { OOM_FREE_UNKNOWN, OOM_FREE_TOLD, OOM_FREE_COMPUTED, OOM_FREE_REFUSED };

/* What the numbers say. A request on no GPU has but asked and held. */
struct oom_facts {
	bool is_of_gpu;
	bool is_unseen;          /* there is no picture: what was held and by whom is not known */
	uint64_t asked;          /* bytes: of PyTorch, else of CUDA */
	uint64_t total;          /* of the GPU; 0 unknown */
	uint64_t held;           /* by the processes of the picture */
	enum oom_free has_free;
	uint64_t free;
	bool has_untraced;
	uint64_t untraced;       /* neither free nor held: others, and the driver itself */
	size_t asker;            /* its row, and the one that holds the most; OOM_VIEW_NONE */
	size_t largest;
	bool has_torch;          /* of the asker, as the next four */
	uint64_t cached;         /* reserved, and in no block */
	bool gap_known;
	uint64_t gap;
	bool is_too_large;       /* more than the GPU has */
	bool was_room;           /* so much was free: it was another limit */
	bool fits_in_one_piece;  /* it would, if what is cached were one piece */
	bool fits_expandable;    /* it would, if pieces of segments could be given back: expandable segments */
	size_t fits_without;     /* row of another process whose memory would be enough; OOM_VIEW_NONE */
};

struct oom_view {
	struct gmt_oom rec;
	struct view view;        /* now_ns: the moment of the picture */
	int gpu;                 /* in view.gpus, VIEW_GPU_UNKNOWN */
	size_t proc;             /* who asked, in view.procs; OOM_VIEW_NONE: nobody, or it is not known */
	struct history_changes changes; /* of who asked, or of all, shortly before; the caller's to fill in */
	size_t stack;            /* by which stack, in view.stacks; OOM_VIEW_NONE */
	size_t row_count;
	struct oom_view_row *rows; /* greatest first */
	struct oom_facts facts;
};

/* Whose names the ledger has. oom_view_free() releases its arrays. */
void oom_view_build(const struct pipeline *pl, const struct oom *oom, const struct view_request *request,
		    struct oom_view *out);
void oom_view_free(struct oom_view *view);

/* Counts the events of a process, or with tgid 0 of all processes, that have numbers below `end` and happened at most
 * `span_ns` before `until_ns`. */
void history_changes(const struct history *h, uint32_t tgid, uint64_t end, uint64_t until_ns, uint64_t span_ns,
		     struct history_changes *out);

/* Fills in the facts; the rest is there. */
void oom_judge(struct oom_view *view);

#endif
