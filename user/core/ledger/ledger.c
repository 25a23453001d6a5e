/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Takes in records: checks that each record is what its kind and its operation demand, and hands the record to the part
 * that the record concerns, by two tables. Any bytes may come; malformed records are counted.
 */
#include "core/ledger/ledger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "core/ledger/dump_records.h"
#include "core/ledger/handlers.h"
#include "core/ledger/ledger_state.h"
#include "core/ledger/overlap.h"

/* ---- the session ---- */

static int apply_session(struct ledger *l, const struct gmt_hdr *hdr)
{
	struct gmt_session *s = &l->session;

	memcpy(s, hdr, sizeof(*s));
	s->version[sizeof(s->version) - 1] = s->kernel[sizeof(s->kernel) - 1] = '\0';
	s->host[sizeof(s->host) - 1] = s->driver[sizeof(s->driver) - 1] = '\0';
	s->why_no_kernel[sizeof(s->why_no_kernel) - 1] = s->why_no_nvml[sizeof(s->why_no_nvml) - 1] = '\0';
	return 0;
}

static int apply_gpu(struct ledger *l, const struct gmt_hdr *hdr)
{
	gpus_list(&l->gpus, (const void *)hdr);
	return 0;
}

static int apply_gpu_memory(struct ledger *l, const struct gmt_hdr *hdr)
{
	const struct gmt_gpu_memory *rec = (const void *)hdr;
	int gpu = gpus_find(&l->gpus, rec->uuid);

	if (gpu != GPU_UNKNOWN)
		memcpy(&l->gpus.list[gpu].memory, rec, sizeof(*rec));
	return 0;
}

static int apply_gpu_neighbour(struct ledger *l, const struct gmt_hdr *hdr)
{
	const struct gmt_gpu_neighbour *rec = (const void *)hdr;
	int gpu = gpus_find(&l->gpus, rec->uuid);

	return gpu == GPU_UNKNOWN ? 0 : neighbours_take(&l->gpus.list[gpu].neighbours, rec);
}

/* The record has counts since the start of the session; an older record has fewer causes. */
static int apply_loss(struct ledger *l, const struct gmt_hdr *hdr)
{
	const struct gmt_loss *rec = (const void *)hdr;
	size_t count = (hdr->size - sizeof(*hdr)) / sizeof(rec->count[0]);

	for (size_t i = 0; i < count && i < GMT_LOSS_COUNT; i++) {
		if (rec->count[i] > l->loss[i])
			l->loss[i] = rec->count[i];
		l->has_loss |= rec->count[i] != 0;
	}
	return 0;
}

static int apply_library(struct ledger *l, const struct gmt_hdr *hdr)
{
	libraries_add(&l->libraries, (const void *)hdr);
	return 0;
}

static int apply_library_gone(struct ledger *l, const struct gmt_hdr *hdr)
{
	libraries_drop(&l->libraries, (const void *)hdr);
	return 0;
}

static int apply_limit(struct ledger *l, const struct gmt_hdr *hdr)
{
	limits_add(&l->limits, (const void *)hdr);
	return 0;
}

/* The steps up to the one that the collector took, each once: a record of it may be lost. */
static int apply_memory(struct ledger *l, const struct gmt_hdr *hdr)
{
	const struct gmt_memory *rec = (const void *)hdr;
	unsigned int step = l->memory.shed;

	if (rec->shed >= GMT_SHED_COUNT)
		return -EINVAL;
	l->memory = *rec;
	if (step > l->memory.shed)
		l->memory.shed = step;
	while (step++ < rec->shed) {
		if (step == GMT_SHED_STACKS)
			processes_close(&l->processes);
		else if (step == GMT_SHED_NAMES)
			frames_forget(&l->frames);
		deltas_give(&l->out, &(struct delta){ .kind = DELTA_SHED, .ts_ns = hdr->ts_ns, .shed = step });
	}
	return 0;
}

/* Begins a new window. Processes that have ended stay as they were. */
static int apply_mark(struct ledger *l, const struct gmt_hdr *hdr)
{
	l->marks++;
	l->mark_ns = hdr->ts_ns;
	for (size_t i = 0; i < l->processes.count; i++)
		if (l->processes.list[i] && !l->processes.list[i]->exited)
			process_window(l->processes.list[i], hdr->ts_ns);
	return 0;
}

static int apply_end(struct ledger *l, const struct gmt_hdr *hdr)
{
	for (size_t i = 0; i < l->processes.count; i++)
		if (l->processes.list[i])
			overlap_drop(l->processes.list[i], hdr->ts_ns);
	l->end_reason = ((const struct gmt_end *)hdr)->reason;
	return 0;
}

/* ---- stacks ---- */

/* The collector reads the raw frames; the ledger counts how complete the stacks are. */
static int apply_stack(struct ledger *l, const struct gmt_hdr *hdr)
{
	const struct gmt_stack *rec = (const void *)hdr;
	struct process *p;

	if (!rec->id || rec->count > (hdr->size - sizeof(*rec)) / sizeof(rec->words[0]))
		return -EINVAL;
	p = process_find(&l->processes, hdr->tgid);
	if (!p)
		p = process_new(&l->processes, hdr);
	stack_ends_see(&l->stack_ends, &l->processes, p, rec);
	return 0;
}

/* Only the collector has the tables that a copied stack is read with, and the lists of mapped code. */
static int apply_for_collector(struct ledger *l, const struct gmt_hdr *hdr)
{
	(void)l;
	(void)hdr;
	return 0;
}

static int apply_symbol(struct ledger *l, const struct gmt_hdr *hdr)
{
	return frames_add_symbol(&l->frames, (const void *)hdr);
}

static int apply_symbols_end(struct ledger *l, const struct gmt_hdr *hdr)
{
	frames_end_symbols(&l->frames, ((const struct gmt_symbols_end *)hdr)->last_id);
	return 0;
}

static int apply_stack_frames(struct ledger *l, const struct gmt_hdr *hdr)
{
	return frames_add_stack(&l->frames, (const void *)hdr);
}

/* ---- dumps ---- */

/* The ledger has its own sums. Observers read the sums of a dump. */
static int apply_dump(struct ledger *l, const struct gmt_hdr *hdr)
{
	int err = dump_record_is_valid(hdr) ? 0 : -EINVAL;

	if (!err)
		deltas_give(&l->out, &(struct delta){
			.kind = DELTA_DUMP, .ts_ns = hdr->ts_ns,
			.p = hdr->tgid ? process_find(&l->processes, hdr->tgid) : NULL,
			.dump = { .rec = hdr, .error = &err },
		});
	return err;
}

/* A dump has no calls that would tell a process's devices. */
static int apply_dump_row(struct ledger *l, const struct gmt_hdr *hdr)
{
	const struct gmt_oom_row *rec = (const void *)hdr;
	struct process *p = process_find(&l->processes, hdr->tgid);
	int err = apply_dump(l, hdr);

	if (!err && p && rec->device)
		context_learn_gpu(&p->contexts, rec->device - 1u, gpus_number(&l->gpus, rec->uuid));
	return err;
}

/* ---- kinds ---- */

/* One of the two handlers (handlers.h) is set. */
struct kind {
	uint16_t size;           /* the least size; a newer version may append */
	bool has_process;        /* the record names a process */
	bool is_use;             /* the process does something with a GPU: the view shows the process */
	bool begins_life;        /* a process that was never seen begins with the record; else the record is ignored */
	bool has_framework;      /* the record names a framework */
	int (*apply)(struct ledger *l, const struct gmt_hdr *hdr);
	int (*apply_life)(struct process *p, const struct gmt_hdr *hdr);
};

/* The place of a kind in the table: the kernel's kinds, and behind these the collector's. */
#define LOW(kind) ((kind) & (GMT_KIND_USER_FIRST - 1))
#define KIND_LIMIT 32
#define PLACE(kind) (LOW(kind) + ((kind) >= GMT_KIND_USER_FIRST ? KIND_LIMIT : 0))

enum {
#define X(name, value, type, text) SIZE_##name = sizeof(struct type),
	GMT_KINDS(X)
#undef X
};

static const struct kind kinds[2 * KIND_LIMIT] = {
/* SESSION: the record is of no process. PROCESS: the handler finds or begins the process's life. The others say what a
 * living process does. USE: the process uses a GPU. EVENT: another event. FRAMEWORK: an event of a framework.
 * OF_KNOWN: an event that says nothing about a process that was never seen. */
#define SESSION(kind, f) [PLACE(GMT_KIND_##kind)] = { SIZE_##kind, false, false, false, false, f, NULL }
#define PROCESS(kind, f) [PLACE(GMT_KIND_##kind)] = { SIZE_##kind, true, false, false, false, f, NULL }
#define USE(kind, f) [PLACE(GMT_KIND_##kind)] = { SIZE_##kind, true, true, true, false, NULL, f }
#define EVENT(kind, f) [PLACE(GMT_KIND_##kind)] = { SIZE_##kind, true, false, true, false, NULL, f }
#define FRAMEWORK(kind, is_use, f) [PLACE(GMT_KIND_##kind)] = { SIZE_##kind, true, is_use, true, true, NULL, f }
#define OF_KNOWN(kind, f) [PLACE(GMT_KIND_##kind)] = { SIZE_##kind, true, false, false, false, NULL, f }
	USE(CALL, calls_apply),
	USE(RM_ALLOC, kernel_rm_alloc),
	USE(RM_FREE, kernel_rm_free),
	USE(RM_DUP, kernel_rm_dup),
	USE(UVM_GPU, kernel_uvm_gpu),
	USE(UVM_VASPACE, kernel_uvm_vaspace),
	USE(UVM_MAP, kernel_uvm_map),
	USE(UVM_UNMAP, kernel_uvm_unmap),
	USE(UVM_FREE, kernel_uvm_free),
	PROCESS(PROC_FORK, life_fork),
	PROCESS(PROC_EXEC, life_exec),
	PROCESS(PROC_SEEN, life_seen),
	FRAMEWORK(FW_MEM, true, framework_record_memory),
	FRAMEWORK(FW_OOM, true, framework_record_oom),
	FRAMEWORK(FW_RANGE, false, framework_record_other),
	FRAMEWORK(FW_SIZE, true, framework_record_other),
	PROCESS(STACK, apply_stack),
	PROCESS(STACK_COPY, apply_for_collector),
	PROCESS(CODE_MAPPED, apply_for_collector),
	OF_KNOWN(PROC_EXIT, life_exit),
	SESSION(SESSION, apply_session),
	SESSION(GPU, apply_gpu),
	SESSION(GPU_MEMORY, apply_gpu_memory),
	SESSION(GPU_NEIGHBOUR, apply_gpu_neighbour),
	SESSION(MEMORY, apply_memory),
	PROCESS(PROC, life_facts),
	USE(ATTACH, life_attach),
	USE(NVML, balance_nvml),
	[PLACE(GMT_KIND_LOSS)] = { sizeof(struct gmt_hdr), false, false, false, false, apply_loss, NULL },
	SESSION(LIBRARY, apply_library),
	SESSION(LIBRARY_GONE, apply_library_gone),
	SESSION(LIMIT, apply_limit),
	SESSION(SYMBOL, apply_symbol),
	SESSION(SYMBOLS_END, apply_symbols_end),
	PROCESS(STACK_FRAMES, apply_stack_frames),
	SESSION(OOM, apply_dump),
	PROCESS(OOM_ROW, apply_dump_row),
	PROCESS(OOM_STACK, apply_dump),
	PROCESS(OOM_WAITING, apply_dump),
	FRAMEWORK(FRAMEWORK, false, framework_record_other),
	SESSION(MARK, apply_mark),
	PROCESS(HISTORY, apply_dump),
	PROCESS(HISTORY_UNSEEN, apply_dump),
	PROCESS(HISTORY_RANGE, apply_dump),
	PROCESS(HISTORY_EVENT, apply_dump),
	PROCESS(HISTORY_MARK, apply_dump),
	SESSION(END, apply_end),
#undef OF_KNOWN
#undef FRAMEWORK
#undef EVENT
#undef USE
#undef PROCESS
#undef SESSION
};

#define X(name, value, type, text) _Static_assert(LOW(value) < KIND_LIMIT, #name);
GMT_KINDS(X)
#undef X

/* Applies a record to the process that lives now. */
static int apply_to_life(struct ledger *l, const struct kind *kind, const struct gmt_hdr *hdr)
{
	struct process *p = process_find(&l->processes, hdr->tgid);

	if (!p && !kind->begins_life)
		return 0;
	if (!p)
		p = process_new(&l->processes, hdr);
	/* Of an exited process the kernel's side sends nothing. So the fork of the pid's next process was lost. */
	if (p->exited && l->has_loss && kind->begins_life && hdr->kind < GMT_KIND_USER_FIRST)
		p = process_new(&l->processes, hdr);
	if (p->exited) {
		/* The collector writes its records a moment later: such a record about a dead process is no anomaly. */
		p->anomalies[GMT_ANOMALY_AFTER_EXIT] += hdr->kind < GMT_KIND_USER_FIRST;
		return 0;
	}
	if (hdr->ts_ns >= p->next_mark_ns) {
		if (overlap_is_likely(p, l->has_loss))
			overlap_drop(p, hdr->ts_ns);
		process_mark(p, hdr->ts_ns);
	}
	p->touched |= kind->is_use;
	return kind->apply_life(p, hdr);
}

/* -ENOENT: this version does not know the record's kind, or what the record is about. */
static int apply_kind(struct ledger *l, const struct gmt_hdr *hdr)
{
	const struct kind *kind = &kinds[PLACE(hdr->kind) % (2 * KIND_LIMIT)];

	if (LOW(hdr->kind) >= KIND_LIMIT || !kind->size)
		return -ENOENT;
	if (hdr->size < kind->size || (kind->has_process && !hdr->tgid))
		return -EINVAL;
	if (kind->has_framework && framework_of_record(hdr) >= GMT_FW_COUNT)
		return -ENOENT;
	return kind->apply ? kind->apply(l, hdr) : apply_to_life(l, kind, hdr);
}

static int apply_record(struct ledger *l, const struct gmt_hdr *hdr)
{
	int err = apply_kind(l, hdr);

	l->records_unknown += err == -ENOENT;
	return err == -ENOENT ? 0 : err;
}

static void count_record(struct ledger *l, uint64_t ts_ns)
{
	if (!l->records++)
		l->start_ns = ts_ns;
	if (ts_ns > l->now_ns)
		l->now_ns = ts_ns;
}

int ledger_apply(struct ledger *l, const void *record, size_t size)
{
	const struct gmt_hdr *hdr = record;
	void *aligned = NULL;
	uint16_t stated;
	int err;

	if (size < sizeof(*hdr) || size % 8)
		goto malformed;
	memcpy(&stated, record, sizeof(stated));
	if (stated != size)
		goto malformed;
	if ((uintptr_t)record % _Alignof(struct gmt_hdr)) {
		aligned = xmalloc(size);
		memcpy(aligned, record, size);
		hdr = aligned;
	}
	/* What is due by now is decided before the record is applied. */
	if (hdr->ts_ns >= l->out.due_ns)
		deltas_give(&l->out, &(struct delta){ .kind = DELTA_TIME, .ts_ns = hdr->ts_ns });
	err = apply_record(l, hdr);
	processes_fold(&l->processes);
	stack_ends_sweep(&l->stack_ends, &l->processes, &l->frames);
	if (!err)
		count_record(l, hdr->ts_ns);
	free(aligned);
	if (!err)
		return 0;
malformed:
	l->records_malformed++;
	return -EINVAL;
}

/* ---- the ledger itself ---- */

struct ledger *ledger_new(void)
{
	struct ledger *l = xcalloc(1, sizeof(*l));

	processes_init(&l->processes, &l->gpus, &l->session, &l->out);
	l->out.due_ns = UINT64_MAX;
	frames_init(&l->frames);
	stack_ends_init(&l->stack_ends);
	libraries_init(&l->libraries);
	l->end_reason = UINT32_MAX;
	return l;
}

void ledger_free(struct ledger *l)
{
	if (!l)
		return;
	processes_fini(&l->processes);
	gpus_fini(&l->gpus);
	frames_fini(&l->frames);
	stack_ends_fini(&l->stack_ends);
	libraries_fini(&l->libraries);
	limits_fini(&l->limits);
	free(l);
}

struct deltas *ledger_deltas(struct ledger *l)
{
	return &l->out;
}

const struct gpus *ledger_gpus(const struct ledger *l)
{
	return &l->gpus;
}

const struct frames *ledger_frames(const struct ledger *l)
{
	return &l->frames;
}

int64_t ledger_wall_ns(const struct ledger *l)
{
	return l->session.hdr.size ? (int64_t)(l->session.wall_ns - l->session.hdr.ts_ns) : 0;
}
