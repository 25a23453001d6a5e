/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A view of a request that failed: the request, a view of that moment (live bytes only, for a picture has no peaks),
 * the changes shortly before, and what follows from these numbers.
 */
#ifndef GPUMEMTRACE_CORE_VIEW_OOM_VIEW_H
#define GPUMEMTRACE_CORE_VIEW_OOM_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

#include "core/view/oom_verdict.h"
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

/* A process on a GPU, or a process's host memory. */
struct oom_view_row {
	size_t proc;             /* in view.procs */
	size_t row;              /* in its rows; OOM_VIEW_NONE: its host memory */
	bool is_blocks;          /* only the stacks of PyTorch's blocks in `row`, which has the bytes already */
	uint64_t held;           /* bytes by the best source: the kernel, else NVML, else calls */
	bool has_nvml;
	uint64_t nvml, nvml_ts_ns;
	uint64_t rest_bytes;     /* bytes of stacks that are not in the picture */
	uint32_t rest;
	uint64_t recent_ns;
	struct view_stacks recent; /* .grown: since recent_ns */
	struct view_stacks steady; /* stacks that have grown in both halves of the time: maybe leaks */
};

/* The source of the free bytes. TOLD: CUDA. COMPUTED: the GPU's memory less the held bytes, which is the most that can
 * be free. REFUSED: the kernel driver refused so many bytes, so less was free. */
enum oom_free { OOM_FREE_UNKNOWN, OOM_FREE_TOLD, OOM_FREE_COMPUTED, OOM_FREE_REFUSED };

/* Conclusions. A request that is on no GPU has only `asked` and `held`. */
struct oom_facts {
	bool is_of_gpu;
	bool is_limit;           /* a framework reached its own limit: no driver call had failed */
	bool is_unseen;          /* there is no picture: nobody knows who held what */
	uint64_t asked;          /* bytes that the program asked PyTorch for, or else CUDA */
	uint64_t total;          /* of the GPU; 0 unknown */
	uint64_t held;           /* by the processes of the picture */
	enum oom_free has_free;
	uint64_t free;
	bool has_untraced;
	uint64_t untraced;       /* neither free nor held: other programs' and the driver's */
	uint64_t unlisted;       /* part of `untraced` that none of the GPU's neighbours holds (struct view_gpu) */
	bool fits_without_others; /* the request would have fit without processes that are not traced, but with what
				   * the driver holds */
	bool is_by_nvml;         /* `untraced` is what NVML's list of processes has beyond the held bytes */
	size_t asker, largest;   /* row of the process that asked, and greatest row; OOM_VIEW_NONE */
	bool has_torch;          /* of the asker, like the next four */
	uint64_t cached;         /* reserved but in no block */
	bool gap_known;
	uint64_t gap;
	uint64_t largest_total;  /* of the largest GPU, where it is not known which GPU was asked; else 0 */
	bool is_too_large;       /* more than the GPU has, or than any GPU */
	bool was_room;           /* enough was free: there was another limit */
	bool fits_in_one_piece;  /* the request fits if the cached memory is one piece */
	bool fits_expandable;    /* the request fits with expandable segments, which can give back pieces */
	size_t other;            /* greatest row of another process on the GPU; OOM_VIEW_NONE */
	uint64_t others;         /* bytes of all other processes on the GPU */
	size_t other_count;
	size_t fits_without;     /* row of another process whose memory would be enough; OOM_VIEW_NONE */
};

struct oom_view {
	struct gmt_oom rec;
	struct view view;        /* now_ns: the moment of the picture */
	int gpu;                 /* in view.gpus, VIEW_GPU_UNKNOWN */
	bool is_gpu_inferred;    /* the record does not name the GPU, but the process has memory on no other GPU */
	size_t proc;             /* that asked, in view.procs; OOM_VIEW_NONE: none, or it is not known */
	struct history_changes changes; /* shortly before, of that process or of all; the caller fills them in */
	size_t stack;            /* of the request, in view.stacks; OOM_VIEW_NONE */
	size_t backward;         /* of the thread for whose backward the request was, likewise */
	size_t row_count;
	struct oom_view_row *rows; /* greatest first */
	struct oom_facts facts;
	struct oom_verdict verdict;
};

/* Names are the ledger's. oom_view_free() releases the arrays. With request->over_time the view is one that other
 * outputs can show: of a dump, it has memory over time, too, and the failed request is a finding. */
void oom_view_build(const struct pipeline *pl, const struct oom *oom, const struct view_request *request,
		    struct oom_view *out);
void oom_view_free(struct oom_view *view);

/* Counts the events of a process, or with tgid 0 of all processes, that have numbers below `end` and happened at most
 * `span_ns` before `until_ns`. */
void history_changes(const struct history *h, uint32_t tgid, uint64_t end, uint64_t until_ns, uint64_t span_ns,
		     struct history_changes *out);

/* The memory on a GPU that a row is about; NULL: host memory. */
static inline const struct view_row *oom_gpu_row(const struct oom_view *v, const struct oom_view_row *r)
{
	return r->row == OOM_VIEW_NONE ? NULL : &v->view.procs[r->proc].rows[r->row];
}

/* The row that has the stacks of the framework's blocks in another row; OOM_VIEW_NONE: there are none. */
size_t oom_blocks_row(const struct oom_view *v, size_t row);

/* The line whose growth counts for `steady`, a line of the steady stacks of a row. If nearly nothing that the line made
 * has ended, this is the line with all its stacks, steady or not; otherwise `steady`. The view owns the result. */
const struct view_line_row *oom_growth_of(const struct oom_view *v, size_t row, const struct view_line_row *steady);

/* Whether a line of a row that has grown counts. What comes and goes in each iteration of a training is more at one
 * moment and less at another: there only what is kept counts. */
bool oom_counts_for_growth(const struct oom_view *v, size_t row, const struct view_line_row *line);
/* The process may have been starting up where growth counts from its first seconds. */
bool oom_is_start_up(const struct oom_view *v, const struct oom_view_row *row);

/* Whether the request would certainly have fit if `bytes` more had been free. A limit leaves nothing free. */
bool oom_would_fit(const struct oom_facts *f, uint64_t bytes);

/* The free bytes that are certain. */
static inline uint64_t oom_surely_free(const struct oom_facts *f)
{
	return f->has_free == OOM_FREE_TOLD ? f->free : 0;
}

/* What of a GPU no process of a picture that was asked for holds, and no process that is named beside it. */
struct oom_rest {
	bool is_told;            /* NVML told at that time what was free */
	uint64_t free;
	uint64_t bytes;          /* not free: the driver's, and other processes'. !is_told: or free */
};
void oom_rest_of(const struct oom_view *v, int gpu, struct oom_rest *out);

/* Each fills in a part from the rest of the view and the parts before: the facts; the causes of the verdict
 * (oom_causes.c); the other parts of the verdict (oom_parts.c); where no request failed, the findings
 * (oom_findings.c); where one failed for good, the finding that says so. */
void oom_judge(struct oom_view *view);
void oom_decide(struct oom_view *view);
void oom_parts(struct oom_view *view);
void oom_find(struct oom_view *view);
void oom_find_request(struct oom_view *view);
/* The verdict's short form, when the verdict is made: oom_reason.c. */
void oom_why_read(const struct oom_view *view, struct oom_why *why);

#endif
