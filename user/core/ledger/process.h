/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes: who they are, from when to when they were seen, and all that is known of their memory.
 *
 * A process is one life of a pid. When a process ends (exit, or another start time), its sums stay as they are. When it
 * runs another program, live memory begins at zero, while peaks and counts stay. A child of fork begins with nothing,
 * since it cannot use CUDA memory of its parent.
 *
 * Tracing may go on for months: of the processes that have ended, the newest PROCESSES_ENDED are kept one by one. Of
 * older ones only sums are kept (view_ended), unless an observer still has something of the process.
 */
#ifndef GPUMEMTRACE_CORE_LEDGER_PROCESS_H
#define GPUMEMTRACE_CORE_LEDGER_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

#include "base/hash.h"
#include "core/account/account.h"
#include "core/ledger/event.h"
#include "core/ledger/process_tables.h"
#include "core/rm/rm.h"
#include "core/account/view_stacks.h"

struct process {
	uint32_t tgid;
	uint32_t index;          /* in processes.list */
	bool exited;
	bool from_start;         /* all GPU use of the process was seen */
	bool touched;            /* it has used a GPU: the view shows it */
	struct account account;
	struct allocs allocs;
	struct vmm vmm;
	struct contexts contexts;
	struct hash pools;       /* struct pool, by handle */
	struct graphs graphs;
	struct hash threads;     /* struct thread *, by tid */
	uint32_t last_tid;       /* thread of the newest call, like the next */
	struct thread *last_thread;
	struct rm *rm;           /* NULL: no kernel record so far */
	struct checkpoint *checkpoint; /* NULL: nothing was freed outside of calls */
	struct processes *all;
	struct gpus *gpus;       /* the ledger's, like the next two */
	const struct gmt_session *session;
	const struct deltas *out;
	int named;               /* the only GPU that NVML and UVM have named for it, GPU_UNKNOWN */
	bool named_several;
	int mig;                 /* the MIG instance it uses, GPU_UNKNOWN */
	struct view_unwinding unwinding;
	uint32_t growth;         /* the newest mark that growth may be counted from, process_mark(); 0: none */
	uint32_t recent;         /* the newest of the marks that lie a fixed time apart; 0: none */
	uint64_t next_mark_ns;
	uint64_t window_ns;      /* peaks count from here because somebody asked; 0: from the attach on */
	struct held *held;       /* what it held at its end */
	size_t held_count;
	uint64_t anomalies[GMT_ANOMALY_COUNT];
	/* facts */
	uint32_t ns_pid, uid;
	uint64_t start_ns, attach_ts_ns, exit_ts_ns;
	uint64_t end_number;     /* 1 for the process that ended first; 0: it has not ended */
	int exit_code;
	char comm[GMT_COMM_BYTES + 1];
	char cmdline[256];
	char cgroup[128];
};

struct held;

struct processes {
	struct gpus *gpus;
	const struct gmt_session *session;
	const struct deltas *out;
	struct process **list;   /* in order of appearance; NULL: is only in the sums */
	size_t count;
	uint32_t *ended;         /* indices, in the order in which they ended */
	size_t ended_count;
	uint64_t ends;           /* of processes, ever */
	bool has_ended;          /* one has, since processes_fold() */
	struct view_ended folded;/* the sums of those that are not kept */
	uint64_t dropped_stacks; /* of those that are not kept, since stack_ends_sweep() */
	uint64_t parked_dropped; /* pieces of memory that were too many for a checkpoint */
	struct hash by_tgid;     /* uint32_t: index of its newest life */
	struct process *last;    /* the newest record's */
	bool is_closed;          /* to new stacks: account_close() */
};

void processes_init(struct processes *all, struct gpus *gpus, const struct gmt_session *session,
		    const struct deltas *out);
void processes_fini(struct processes *all);

#define PROCESSES_ENDED 1000

/* Keeps a process that has just ended. */
void process_keep_ended(struct process *p);
/* Books no new stacks of any process from now on (account_close()). */
void processes_close(struct processes *all);
/* Adds the oldest of the processes that have ended to the sums, and frees them, while there are too many. */
void processes_fold(struct processes *all);
/* Adds what the ledger has counted of a process to the sums. */
void process_sum(const struct process *p, struct view_ended *sum);

/* The newest life of a pid, NULL if it was never seen. */
struct process *process_find(struct processes *all, uint32_t tgid);
static inline const struct process *process_newest(const struct processes *all, uint32_t tgid)
{
	const uint32_t *index = hash_get(&all->by_tgid, tgid);

	return index ? all->list[*index] : NULL;
}
/* Whether a process with this pid is traced now and has used a GPU. */
static inline bool process_is_traced(const struct processes *all, uint32_t tgid)
{
	const struct process *p = process_newest(all, tgid);

	return p && p->touched && !p->exited;
}
/* Begins a new life of the pid. */
struct process *process_new(struct processes *all, const struct gmt_hdr *hdr);
/* Forgets the process's memory, which is gone; the sums stay (account.h). */
void process_forget(struct process *p);
/* The process is traced from now on: growth counts from here. */
void process_begin_marks(struct process *p, uint64_t ts_ns);

struct thread *process_thread_slow(struct process *p, uint32_t tid);
static inline struct thread *process_thread(struct process *p, uint32_t tid)
{
	if (p->last_tid == tid && p->last_thread)
		return p->last_thread;
	return process_thread_slow(p, tid);
}

/*
 * Growth is counted from a moment between a fifth and a half of the time that the process has been traced: late
 * enough that the process has settled, early enough that a slow leak shows. There are marks at 1, 2, 4, 8 ... seconds.
 * Growth counts from the last mark but one, in two parts: up to the last mark, and from there on. The second part has
 * at least half the length of the first part: until then the marks before count, from the mark at 8 seconds on. So
 * growth that goes on shows at any time. Call the function with the first record from next_mark_ns on.
 */
void process_mark(struct process *p, uint64_t ts_ns);
/* Sets the time from which growth counts at `now_ns`, and returns the `since` for stacks_row(): STACKS_NOW where
 * the marks of a past moment are no longer known. */
unsigned int process_since(const struct process *p, uint64_t now_ns, uint64_t *since_ns);
/* The newest of these marks, as for stacks_held(), and its time; STACKS_AT_START and the time of the attach: none. */
unsigned int process_newest_mark(const struct process *p, uint64_t *ns);
/* The same as process_since() for the mark after that, where the second part begins, and for a mark one to two
 * PROCESS_RECENT_NS ago. */
unsigned int process_since_later(const struct process *p, uint64_t now_ns, uint64_t *since_ns);
unsigned int process_since_recent(const struct process *p, uint64_t now_ns, uint64_t *since_ns);
#define PROCESS_RECENT_NS 10000000000ULL

/* Peaks and growth count from here, because somebody asks for a new window. */
void process_window(struct process *p, uint64_t ts_ns);
/* The same for the growth that a view shows: since the window, if somebody asked for one, else as process_since(). */
unsigned int process_since_window(const struct process *p, uint64_t now_ns, uint64_t *since_ns);

/* Whether the kernel layer was active for the process. */
static inline bool process_has_kernel(const struct process *p)
{
	return p->session->hdr.size ? p->session->layers & GMT_LAYER_KERNEL : p->rm != NULL;
}

/* Whether calls of the CUDA driver were traced. */
static inline bool process_has_calls(const struct process *p)
{
	return !p->session->hdr.size || p->session->layers & GMT_LAYER_API;
}

/* NVML or UVM says that the process uses the GPU. */
void process_named(struct process *p, int gpu);

/*
 * The GPU of an allocation, or the GPU's row. The first known source says the GPU: where the kernel mapped the address
 * (0: none); where memory lies that was obtained inside the call (call may be NULL); the CUDA ordinal; the only GPU of
 * the machine or of the process. Otherwise the GPU is GPU_UNKNOWN.
 */
int process_gpu(struct process *p, uint64_t address, const struct gmt_call *call, unsigned int ordinal);
unsigned int process_row(struct process *p, uint64_t address, const struct gmt_call *call, unsigned int ordinal);

/* CUDA's number of a GPU in the process, also after the process has ended; ORDINAL_NONE: not known. */
unsigned int process_ordinal(const struct process *p, int gpu);

/* The row of a framework's device, by the address of one of its blocks. A known row does not change. */
unsigned int process_device_row(struct process *p, unsigned int ordinal, uint64_t address);

/* Live device memory that begins at an address. False: none is known. */
bool process_memory_at(const struct process *p, uint64_t address, struct delta_place *place, bool *is_mapped);

#endif
