/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes: who they are, from when to when they were seen, and all that is known of their memory.
 *
 * A process is one life of a pid. At its end (exit, or another start time) its sums stay as they
 * were; another program in it begins at zero, with the peaks and counts that were. A child of fork
 * begins with nothing: CUDA memory cannot be used in it.
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
	bool from_start;         /* of its GPU use nothing was missed */
	bool touched;            /* it did more than being born: the view shows it */
	struct account account;
	struct allocs allocs;
	struct vmm vmm;
	struct contexts contexts;
	struct hash pools;       /* struct pool, by handle */
	struct hash threads;     /* struct thread *, by tid */
	uint32_t last_tid;       /* the newest call's, and its thread */
	struct thread *last_thread;
	struct rm *rm;           /* NULL: no kernel record so far */
	struct gpus *gpus;       /* the ledger's, and the next two */
	const struct gmt_session *session;
	const struct deltas *out;
	int named;               /* the only GPU that NVML and UVM have named for it, GPU_UNKNOWN */
	bool named_several;
	int mig;                 /* the MIG instance it uses, GPU_UNKNOWN */
	struct view_unwinding unwinding;
	uint32_t growth;         /* the newest mark that growth may be counted from, process_mark(); 0: none */
	uint32_t recent;         /* the newest of the marks that lie a fixed time apart; 0: none */
	uint64_t next_mark_ns;
	uint64_t window_ns;      /* peaks count from here, since somebody asked for it; 0: since the attach */
	struct held *held;       /* of one that has ended */
	size_t held_count;
	uint64_t anomalies[GMT_ANOMALY_COUNT];
	/* facts */
	uint32_t ns_pid, uid;
	uint64_t start_ns, attach_ts_ns, exit_ts_ns;
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
	struct process **list;   /* in order of appearance */
	size_t count;
	struct hash by_tgid;     /* uint32_t: index of its newest life */
	struct process *last;    /* the newest record's */
};

void processes_init(struct processes *all, struct gpus *gpus, const struct gmt_session *session,
		    const struct deltas *out);
void processes_fini(struct processes *all);

/* The newest life of a pid, NULL if it was never seen. */
struct process *process_find(struct processes *all, uint32_t tgid);
/* A new life of the pid. */
struct process *process_new(struct processes *all, const struct gmt_hdr *hdr);
/* All memory of it is gone, the sums stay (account.h). */
void process_forget(struct process *p);
/* Growth is counted anew: it is traced from now on. */
void process_begin_marks(struct process *p, uint64_t ts_ns);

struct thread *process_thread_slow(struct process *p, uint32_t tid);
static inline struct thread *process_thread(struct process *p, uint32_t tid)
{
	if (p->last_tid == tid && p->last_thread)
		return p->last_thread;
	return process_thread_slow(p, tid);
}

/*
 * Growth is counted from a moment that lies between a quarter and a half of the time that the process has
 * been traced: late enough that it has settled, early enough that a slow leak shows. There are marks at 1,
 * 2, 4, 8 ... seconds; it is the last but one. Records come here when the next mark is due.
 */
void process_mark(struct process *p, uint64_t ts_ns);
/* Since when, at `now_ns`: its time, and what stacks_row() is to be asked for. */
unsigned int process_since(const struct process *p, uint64_t now_ns, uint64_t *since_ns);
/* The same for the mark after that one; and for what has happened of late: one to two RECENT_NS ago. */
unsigned int process_since_later(const struct process *p, uint64_t now_ns, uint64_t *since_ns);
unsigned int process_since_recent(const struct process *p, uint64_t now_ns, uint64_t *since_ns);
#define PROCESS_RECENT_NS 10000000000ULL

/* Somebody asks for a new window: peaks and growth count from here. */
void process_window(struct process *p, uint64_t ts_ns);
/* What the view counts growth from: the window, if somebody asked for one, or process_since(). */
unsigned int process_since_window(const struct process *p, uint64_t now_ns, uint64_t *since_ns);

/* Whether the kernel layer was active for the process. */
static inline bool process_has_kernel(const struct process *p)
{
	return p->session->hdr.size ? p->session->layers & GMT_LAYER_KERNEL : p->rm != NULL;
}

/* NVML or UVM says that the process uses the GPU. */
void process_named(struct process *p, int gpu);

/*
 * The GPU that an allocation is on, by the best that is known: where the kernel mapped its address
 * (0: it has none), where memory obtained inside the call lies (call may be NULL), its CUDA ordinal,
 * the only GPU there is. Else GPU_UNKNOWN. And the row that it belongs to.
 */
int process_gpu(struct process *p, uint64_t address, const struct gmt_call *call, unsigned int ordinal);
unsigned int process_row(struct process *p, uint64_t address, const struct gmt_call *call, unsigned int ordinal);

/* The row of a framework's device, by its block at an address: once known it stays. */
unsigned int process_device_row(struct process *p, unsigned int ordinal, uint64_t address);

/* Live device memory that begins at an address. False: there is none, or it is not known. */
bool process_memory_at(const struct process *p, uint64_t address, struct delta_place *place, bool *is_mapped);

/* Their number, by the calls that made them. */
uint64_t process_live_allocs(const struct process *p);

#endif
