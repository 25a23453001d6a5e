/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A view: plain numbers for sinks, computed from the ledger at one moment. All sizes are bytes, all times
 * CLOCK_MONOTONIC nanoseconds. A view owns its arrays and strings; sinks never change a view.
 *
 * The sums of a row (one process on one GPU) when the kernel layer was active:
 *
 *   physical          = sum of by_purpose[]          memory obtained since attach, as the kernel gave it
 *   named             = physical - attributed        context, modules, pool reserve, rounding ..., less what a
 *                                                    checkpoint has moved to host memory
 *   nvml              = attributed + named + before_attach + residual
 *
 * Without the kernel layer: nvml = attributed + before_attach + residual, and the residual contains contexts.
 */
#ifndef GPUMEMTRACE_CORE_VIEW_VIEW_H
#define GPUMEMTRACE_CORE_VIEW_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/api.h>
#include <gpumemtrace/wire.h>

#include "core/terms/view_levels.h"
#include "core/account/view_stacks.h"
#include "core/framework/view_torch.h"
#include "core/timeline/view_timeline.h"
#include "core/history/view_instants.h"
#include "core/lives/view_lives.h"
#include "core/terms/oom_why.h"
#include "core/terms/limits.h"
#include "core/terms/dropped.h"
#include "core/terms/names.h"

struct finding;
struct pipeline;
struct process;

/* A process that is not traced. */
struct view_neighbour {
	uint32_t tgid;
	uint64_t bytes;          /* of the GPU, by NVML */
	char comm[GMT_COMM_BYTES + 1]; /* "": not known */
};

struct view_gpu {
	uint8_t uuid[GMT_UUID_BYTES];
	uint32_t index;          /* nvidia-smi's number of the GPU; UINT32_MAX: not in the inventory */
	uint32_t flags;          /* enum gmt_gpu_flag */
	uint32_t parent_index;
	uint32_t gpu_instance, compute_instance;
	uint64_t total_bytes;    /* 0: unknown */
	/* By NVML, at memory_ts_ns. What is used beyond processes_bytes is the driver's own, or of nobody whom NVML
	 * lists: a child that keeps the descriptors of a dead process keeps its memory, too. */
	bool has_memory;
	uint64_t used_bytes, free_bytes;
	uint64_t processes_bytes; /* of all processes that NVML lists, traced or not */
	uint64_t memory_ts_ns;
	size_t neighbour_count;
	struct view_neighbour neighbours[GMT_NEIGHBOURS_MAX]; /* at memory_ts_ns, the largest first */
	uint32_t more_neighbours;  /* further processes that are not traced */
	uint64_t more_bytes;
	char uuid_text[48];      /* "GPU-ad5a9842-..." or "MIG-..." */
	char name[96];
	char pci[32];
};

#define VIEW_GPU_UNKNOWN (-1)

#define VIEW_ORDINAL_UNKNOWN UINT32_MAX

struct view_row {
	int gpu;                 /* index in view.gpus, VIEW_GPU_UNKNOWN */
	uint32_t ordinal;        /* CUDA's number of the GPU in this process, VIEW_ORDINAL_UNKNOWN */
	struct view_class by_class[GMT_CLASS_COUNT];
	struct view_level attributed;  /* live device-memory bytes that calls since attach asked for */
	bool has_physical;       /* the kernel layer was active */
	struct view_level physical;    /* bytes the kernel gave since attach and did not take back */
	uint64_t by_purpose[GMT_PURPOSE_COUNT]; /* sums to physical.live */
	/* physical - attributed, split (sums to physical.live - attributed.live + checkpointed exactly): */
	int64_t context;         /* purpose CONTEXT, less the small allocations in its blocks */
	int64_t modules;
	int64_t pool_reserve;    /* pool memory the process holds but no allocation uses */
	int64_t rounding;        /* granularity of cuMemAlloc and cuMemCreate */
	int64_t other;           /* graph, streams, outside a probed call */
	uint64_t checkpointed;   /* attributed bytes and those before that a checkpoint has moved to host memory */
	uint64_t imported_physical;    /* objects that were duplicated from another process, and show its memory */
	bool has_nvml;
	uint64_t nvml;           /* at nvml_ts_ns */
	uint64_t nvml_ts_ns;
	uint64_t nvml_baseline;  /* at attach; 0 if attached from the start */
	uint64_t before_attach;  /* the part of the baseline that is still there */
	bool before_inferred;    /* after frees of unknown size, NVML's numbers lowered before_attach */
	uint64_t before_frees;   /* kernel objects from before attach that were freed */
	int64_t residual;        /* nvml - attributed - (physical - attributed) - before_attach, taken at
	                          * nvml_ts_ns: never mixes two moments */
	struct view_torch torch;
	struct view_sum at_nvml; /* the row as it was at nvml_ts_ns: the members sum to nvml exactly, also
	                          * after the process has ended */
	struct view_stacks stacks; /* of physical; without the kernel layer, of attributed */
	struct view_timeline *timeline; /* memory over time; NULL: there is none */
};

struct view_proc {
	uint32_t number;         /* of lives (lives_told.h) */
	uint32_t tgid;
	uint32_t ns_pid;
	uint32_t uid;
	uint64_t start_ns;       /* CLOCK_BOOTTIME; 0 unknown */
	uint64_t attach_ts_ns;   /* first seen */
	uint64_t window_ns;      /* peaks count from here: the attach, or a mark after it */
	bool from_start;
	bool exited;             /* if so, "live" is at the process's end */
	int exit_code;           /* wait status */
	uint64_t exit_ts_ns;
	char comm[GMT_COMM_BYTES + 1];
	char cmdline[256];
	char cgroup[128];
	struct view_class by_class[GMT_CLASS_COUNT]; /* over all GPUs; managed, pinned, registered live here only */
	uint64_t anomalies[GMT_ANOMALY_COUNT];
	enum gmt_torch_silence torch_silence;
	uint64_t ooms[GMT_OOM_OUTCOME_COUNT]; /* failed requests by their outcome */
	uint64_t host_ooms[GMT_OOM_OUTCOME_COUNT]; /* those of them for memory of the host */
	struct oom_why *why;        /* why the newest of them that failed for good did so; NULL: not known */
	struct view_unwinding unwinding;
	struct view_stacks host_stacks; /* of managed, pinned and registered memory */
	size_t row_count;
	struct view_row *rows;   /* known GPUs by index, then the unknown GPU if anything is on it */
};

/* An owner of memory in this view. */
struct view_owner_text {
	char *text;              /* for people: "transformers (PyTorch)" */
	char *name;              /* "transformers"; `text` itself where there is no allocator */
	char *allocator;         /* the framework that took the memory for the owner; NULL: none */
};

struct view {
	uint64_t start_ns, now_ns;  /* first and newest record */
	uint64_t wall_start_ns;     /* CLOCK_REALTIME of start_ns; 0 unknown */
	struct gmt_session session; /* all zero if the stream has none */
	size_t gpu_count;
	struct view_gpu *gpus;
	size_t proc_count;
	struct view_proc *procs;    /* in order of appearance; a reused pid is a second process */
	struct view_ended ended;    /* processes that are not in procs, as they ended long ago */
	uint64_t ends;              /* of processes so far, for the request of a later view */
	struct limits limits;       /* of the session */
	size_t library_count;
	struct gmt_library *libraries;
	uint64_t libraries_forgotten; /* others that were probed in the session */
	size_t owner_count;
	struct view_owner_text *owners;
	size_t module_count;
	char **modules;             /* paths of torch.nn modules, as "Net > Linear" */
	size_t stack_count;
	struct view_stack *stacks;  /* those that are shown */
	size_t symbol_count;
	struct view_symbol *symbols; /* of their frames */
	struct gmt_memory memory;   /* gpumemtrace's own; hdr.size 0: nothing was said of it */
	uint64_t dropped[VIEW_DROP_COUNT]; /* what was too much to keep */
	uint64_t timelines_dropped; /* processes that ended, whose memory over time had no room any longer */
	bool timelines_are_coarse;  /* gpumemtrace's own memory was short */
	uint64_t timelines_unseen;  /* processes whose memory over time, or a part of it, never had room */
	bool has_ages;              /* the request was for ages */
	uint64_t older_than_ns;
	uint64_t records;
	uint64_t records_unknown;   /* of a kind that this version does not know */
	uint64_t records_malformed;
	uint64_t loss[GMT_LOSS_COUNT];
	uint64_t anomalies[GMT_ANOMALY_COUNT];
	uint32_t marks;             /* requested windows */
	uint64_t mark_ns;           /* when the newest one began; 0: none */
	uint32_t end_reason;        /* enum gmt_end_reason; UINT32_MAX: the stream has no end record */
	bool is_filtered;           /* traced processes (view_filter.h), or some of their GPUs, are not in procs */
	struct view_lives *lives;   /* single allocations (view_lives.h); NULL: the request was not for them */
	struct view_instants *instants; /* where memory lay (view_instants.h); likewise */
	size_t finding_count;
	struct finding *findings;   /* what the numbers mean: the most urgent first (finding.h) */
};

/* Nanoseconds since the first record; 0 for what was before. */
static inline uint64_t view_since_start(const struct view *view, uint64_t ts_ns)
{
	return ts_ns > view->start_ns ? ts_ns - view->start_ns : 0;
}

/* Computes a view; view_free() releases its arrays. The texts of symbols are the ledger's. Without
 * memory, the program ends. Without a request the view shows no stacks and has one owner. */
void view_build(const struct pipeline *pl, const struct view_request *request, struct view *view);
void view_free(struct view *view);
/* Whether the view has one of the processes that the request is for: costs much less than the view. */
bool view_has_chosen(const struct pipeline *pl, const struct view_request *request);
/* Marks the devices of a process, by their CUDA ordinals, that are the request's GPU: devices[VIEW_DEVICES], all false
 * before. Returns how many there are. */
#define VIEW_DEVICES 256
unsigned int view_wanted_devices(const struct pipeline *pl, const struct view_request *request, const struct process *p,
				 bool *devices);
void view_stacks_free(struct view_stacks *stacks);   /* of a view that is being built */

/* The stacks of a row that say most: tensors say more than the segments that they lie in. */
const struct view_stacks *view_best_stacks(const struct view_row *row);

/* The memory of a row on its GPU: physical bytes if the kernel layer was active. */
uint64_t view_weight(const struct view_row *row);
/* What a process holds on a GPU by the best source. NVML's last number of a process that has ended is from before its
 * end. */
uint64_t view_holds(const struct view_proc *proc, const struct view_row *row);

/* Lost records: the sum of loss[] and records_malformed. */
uint64_t view_lost(const struct view *view);

#endif
