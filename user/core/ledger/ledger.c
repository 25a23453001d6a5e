/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Takes records in: checks each against what its kind and its operation demand, and hands it to the
 * part that it concerns, by two tables. Any bytes may come; what is malformed is counted.
 */
#include "core/ledger/ledger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "core/ledger/balance.h"
#include "core/ledger/calls.h"
#include "core/ledger/driver_records.h"
#include "core/ledger/dump_records.h"
#include "core/ledger/framework_records.h"
#include "core/ledger/ledger_state.h"
#include "core/ledger/life.h"
#include "core/terms/framework_ids.h"
#include "core/terms/probes.h"

static int apply_call(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	(void)l;
	return calls_apply(p, hdr);
}

/* ---- processes ---- */

static int apply_exec(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	(void)l;
	life_exec(p, (const void *)hdr);
	return 0;
}

static int apply_exit(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	(void)l;
	life_exit(p, (const void *)hdr);
	return 0;
}

static int apply_attach(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	(void)l;
	life_attach(p, (const void *)hdr);
	return 0;
}

static int apply_nvml(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	const struct gmt_nvml *rec = (const void *)hdr;
	int gpu = gpus_number(&l->gpus, rec->uuid);

	process_named(p, gpu);
	if (gpu != GPU_UNKNOWN)
		balance_nvml(p, ledger_has_kernel(l, p), rec, gpu);
	return 0;
}

static int apply_fork(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	(void)p;
	life_fork(&l->processes, (const void *)hdr);
	return 0;
}

static int apply_seen(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	(void)p;
	life_seen(&l->processes, (const void *)hdr);
	return 0;
}

static int apply_proc(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	(void)p;
	life_facts(&l->processes, (const void *)hdr);
	return 0;
}

/* ---- the session ---- */

static int apply_session(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	struct gmt_session *s = &l->session;

	(void)p;
	memcpy(s, hdr, sizeof(*s));
	s->version[sizeof(s->version) - 1] = s->kernel[sizeof(s->kernel) - 1] = '\0';
	s->host[sizeof(s->host) - 1] = s->driver[sizeof(s->driver) - 1] = '\0';
	s->why_no_kernel[sizeof(s->why_no_kernel) - 1] = s->why_no_nvml[sizeof(s->why_no_nvml) - 1] = '\0';
	l->has_session = true;
	return 0;
}

static int apply_gpu(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	(void)p;
	gpus_list(&l->gpus, (const void *)hdr);
	return 0;
}

/* Counts since the start of the session; an older record has fewer causes. */
static int apply_loss(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	const struct gmt_loss *rec = (const void *)hdr;
	size_t count = (hdr->size - sizeof(*hdr)) / sizeof(rec->count[0]);

	(void)p;
	for (size_t i = 0; i < count && i < GMT_LOSS_COUNT; i++)
		if (rec->count[i] > l->loss[i])
			l->loss[i] = rec->count[i];
	return 0;
}

static int apply_library(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	struct gmt_library *library;

	(void)p;
	l->libraries = xreallocarray(l->libraries, l->library_count + 1, sizeof(*l->libraries));
	library = &l->libraries[l->library_count++];
	memcpy(library, hdr, sizeof(*library));
	library->build_id[sizeof(library->build_id) - 1] = '\0';
	library->path[sizeof(library->path) - 1] = '\0';
	return 0;
}

static int apply_limit(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	(void)p;
	limits_add(&l->limits, (const void *)hdr);
	return 0;
}

/* ---- stacks ---- */

/* How the walk over a stack ended, for when it is sent once more. */
struct stack_end {
	struct process *of;
	uint8_t reason, py_reason;
};

static void count_end(const struct stack_end *end, int by)
{
	struct view_unwinding *unwinding = &end->of->unwinding;

	unwinding->stacks += by;
	unwinding->reasons[end->reason] += by;
	unwinding->py_reasons[end->py_reason] += by;
}

/* The raw frames are the collector's business; what matters here is how complete they are. A stack that was
 * cut off for want of a table comes again, with its id. */
static int apply_stack(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	const struct gmt_stack *rec = (const void *)hdr;
	bool is_new;

	if (!rec->id || rec->count > (hdr->size - sizeof(*rec)) / sizeof(rec->words[0]))
		return -EINVAL;
	p = process_get(&l->processes, hdr);
	if (hash_count(&l->stack_ends) >= FRAMES_IDS_MAX)
		return 0;
	struct stack_end *end = hash_put(&l->stack_ends, rec->id, &is_new);

	if (!is_new)
		count_end(end, -1);
	*end = (struct stack_end){
		.of = p,
		.reason = rec->reason < GMT_UNWIND_REASON_COUNT ? rec->reason : GMT_UNWIND_END_NONE,
		.py_reason = rec->py_reason < GMT_PY_REASON_COUNT ? rec->py_reason : GMT_PY_END_NONE,
	};
	count_end(end, 1);
	return 0;
}

/* Of no use without the tables that the collector has. */
static int apply_stack_copy(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	(void)l;
	(void)p;
	(void)hdr;
	return 0;
}

static int apply_symbol(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	(void)p;
	return frames_add_symbol(&l->frames, (const void *)hdr);
}

static int apply_stack_frames(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	(void)p;
	return frames_add_stack(&l->frames, (const void *)hdr);
}

/* Of those that have ended all stays as it was. */
static int apply_mark(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	(void)p;
	l->marks++;
	l->mark_ns = hdr->ts_ns;
	for (size_t i = 0; i < l->processes.count; i++)
		if (!l->processes.list[i]->exited)
			process_window(l->processes.list[i], hdr->ts_ns);
	return 0;
}

static int apply_end(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	(void)p;
	l->end_reason = ((const struct gmt_end *)hdr)->reason;
	return 0;
}

/* ---- dumps ---- */

/* The ledger has its own sums: a dump's are others' to read. */
static int apply_dump(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	int err = dump_record_check(hdr);

	(void)p;
	if (!err)
		deltas_give(&l->out, &(struct delta){
			.kind = DELTA_DUMP, .ts_ns = hdr->ts_ns,
			.p = hdr->tgid ? process_find(&l->processes, hdr->tgid) : NULL,
			.dump = { .rec = hdr, .error = &err },
		});
	return err;
}

/* ---- kinds ---- */

enum subject {
	OF_SESSION,    /* needs no process */
	OF_PROCESS,    /* names one by its tgid, and finds or begins its life by itself */
	OF_LIFE,       /* is about what a process does: there must be one, it must not have ended */
	OF_KNOWN,      /* likewise, but says nothing about a process that was never seen */
};

struct kind {
	uint16_t size;           /* the least; a newer version may append */
	enum subject subject;
	bool is_use;             /* the process does something with a GPU: the view shows it */
	int (*apply)(struct ledger *l, struct process *p, const struct gmt_hdr *hdr);
};

#define LOW(kind) ((kind) & (GMT_KIND_USER_FIRST - 1))
#define KIND_LIMIT 32

static const struct kind kinds[2][KIND_LIMIT] = {
	{
		[GMT_KIND_CALL] = { sizeof(struct gmt_call), OF_LIFE, true, apply_call },
		[GMT_KIND_RM_ALLOC] = { sizeof(struct gmt_rm_alloc), OF_LIFE, true, kernel_rm_alloc },
		[GMT_KIND_RM_FREE] = { sizeof(struct gmt_rm_free), OF_LIFE, true, kernel_rm_free },
		[GMT_KIND_RM_DUP] = { sizeof(struct gmt_rm_dup), OF_LIFE, true, kernel_rm_dup },
		[GMT_KIND_UVM_GPU] = { sizeof(struct gmt_uvm_gpu), OF_LIFE, true, kernel_uvm_gpu },
		[GMT_KIND_UVM_VASPACE] = { sizeof(struct gmt_uvm_vaspace), OF_LIFE, true, kernel_uvm_vaspace },
		[GMT_KIND_UVM_MAP] = { sizeof(struct gmt_uvm_map), OF_LIFE, true, kernel_uvm_map },
		[GMT_KIND_UVM_UNMAP] = { sizeof(struct gmt_uvm_unmap), OF_LIFE, true, kernel_uvm_unmap },
		[GMT_KIND_UVM_FREE] = { sizeof(struct gmt_uvm_free), OF_LIFE, true, kernel_uvm_free },
		[GMT_KIND_PROC_FORK] = { sizeof(struct gmt_proc_fork), OF_PROCESS, false, apply_fork },
		[GMT_KIND_PROC_EXEC] = { sizeof(struct gmt_proc_exec), OF_LIFE, false, apply_exec },
		[GMT_KIND_PROC_SEEN] = { sizeof(struct gmt_proc_exec), OF_PROCESS, false, apply_seen },
		[GMT_KIND_FW_MEM] = { sizeof(struct gmt_fw_mem), OF_LIFE, true, framework_record_memory },
		[GMT_KIND_FW_OOM] = { sizeof(struct gmt_fw_oom), OF_LIFE, true, framework_record_oom },
		[GMT_KIND_FW_RANGE] = { sizeof(struct gmt_fw_range), OF_LIFE, false, framework_record_other },
		[GMT_KIND_FW_SIZE] = { sizeof(struct gmt_fw_size), OF_LIFE, true, framework_record_other },
		[GMT_KIND_STACK] = { sizeof(struct gmt_stack), OF_PROCESS, false, apply_stack },
		[GMT_KIND_STACK_COPY] = { sizeof(struct gmt_stack_copy), OF_PROCESS, false, apply_stack_copy },
		[GMT_KIND_PROC_EXIT] = { sizeof(struct gmt_proc_exit), OF_KNOWN, false, apply_exit },
	},
	{
		[LOW(GMT_KIND_SESSION)] = { sizeof(struct gmt_session), OF_SESSION, false, apply_session },
		[LOW(GMT_KIND_GPU)] = { sizeof(struct gmt_gpu), OF_SESSION, false, apply_gpu },
		[LOW(GMT_KIND_PROC)] = { sizeof(struct gmt_proc), OF_PROCESS, false, apply_proc },
		[LOW(GMT_KIND_ATTACH)] = { sizeof(struct gmt_attach), OF_LIFE, true, apply_attach },
		[LOW(GMT_KIND_NVML)] = { sizeof(struct gmt_nvml), OF_LIFE, true, apply_nvml },
		[LOW(GMT_KIND_LOSS)] = { sizeof(struct gmt_hdr), OF_SESSION, false, apply_loss },
		[LOW(GMT_KIND_LIBRARY)] = { sizeof(struct gmt_library), OF_SESSION, false, apply_library },
		[LOW(GMT_KIND_LIMIT)] = { sizeof(struct gmt_limit), OF_SESSION, false, apply_limit },
		[LOW(GMT_KIND_SYMBOL)] = { sizeof(struct gmt_symbol), OF_SESSION, false, apply_symbol },
		[LOW(GMT_KIND_STACK_FRAMES)] = { sizeof(struct gmt_stack_frames), OF_PROCESS, false,
						 apply_stack_frames },
		[LOW(GMT_KIND_OOM)] = { sizeof(struct gmt_oom), OF_SESSION, false, apply_dump },
		[LOW(GMT_KIND_OOM_ROW)] = { sizeof(struct gmt_oom_row), OF_PROCESS, false, apply_dump },
		[LOW(GMT_KIND_OOM_STACK)] = { sizeof(struct gmt_oom_stack), OF_PROCESS, false, apply_dump },
		[LOW(GMT_KIND_FRAMEWORK)] = { sizeof(struct gmt_framework), OF_LIFE, false, framework_record_other },
		[LOW(GMT_KIND_MARK)] = { sizeof(struct gmt_mark), OF_SESSION, false, apply_mark },
		[LOW(GMT_KIND_HISTORY)] = { sizeof(struct gmt_history), OF_PROCESS, false, apply_dump },
		[LOW(GMT_KIND_HISTORY_UNSEEN)] = { sizeof(struct gmt_history_unseen), OF_PROCESS, false,
						   apply_dump },
		[LOW(GMT_KIND_HISTORY_RANGE)] = { sizeof(struct gmt_history_range), OF_PROCESS, false, apply_dump },
		[LOW(GMT_KIND_HISTORY_EVENT)] = { sizeof(struct gmt_history_event), OF_PROCESS, false, apply_dump },
		[LOW(GMT_KIND_HISTORY_MARK)] = { sizeof(struct gmt_history_mark), OF_PROCESS, false, apply_dump },
		[LOW(GMT_KIND_END)] = { sizeof(struct gmt_end), OF_SESSION, false, apply_end },
	},
};

#define X(name, value, type, text) _Static_assert(LOW(value) < KIND_LIMIT, #name);
GMT_KINDS(X)
#undef X

/* A record about the process as it lives now. */
static int apply_to_life(struct ledger *l, const struct kind *kind, const struct gmt_hdr *hdr)
{
	struct process *p = process_find(&l->processes, hdr->tgid);

	if (!p && kind->subject == OF_KNOWN)
		return 0;
	if (!p)
		p = process_get(&l->processes, hdr);
	if (p->exited) {
		/* The collector asks and writes a moment later: its words about the dead are no riddle. */
		p->anomalies[GMT_ANOMALY_AFTER_EXIT] += hdr->kind < GMT_KIND_USER_FIRST;
		return 0;
	}
	if (hdr->ts_ns >= p->next_mark_ns)
		process_mark(p, hdr->ts_ns);
	p->touched |= kind->is_use;
	return kind->apply(l, p, hdr);
}

/* -ENOENT: this version does not know the record's kind, or what the record is about. */
static int apply_kind(struct ledger *l, const struct gmt_hdr *hdr)
{
	unsigned int low = LOW(hdr->kind);
	const struct kind *kind = &kinds[hdr->kind >= GMT_KIND_USER_FIRST][low < KIND_LIMIT ? low : 0];

	if (low >= KIND_LIMIT || !kind->apply)
		return -ENOENT;
	if (hdr->size < kind->size || (kind->subject != OF_SESSION && !hdr->tgid))
		return -EINVAL;
	if (framework_is_unknown(hdr))
		return -ENOENT;
	if (kind->subject == OF_LIFE || kind->subject == OF_KNOWN)
		return apply_to_life(l, kind, hdr);
	return kind->apply(l, NULL, hdr);
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
	/* What time decides is decided before what comes then. */
	if (hdr->ts_ns >= l->out.due_ns)
		deltas_give(&l->out, &(struct delta){ .kind = DELTA_TIME, .ts_ns = hdr->ts_ns });
	err = apply_record(l, hdr);
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

	processes_init(&l->processes, &l->gpus, &l->out);
	l->out.due_ns = UINT64_MAX;
	frames_init(&l->frames);
	hash_init(&l->stack_ends, sizeof(struct stack_end));
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
	hash_fini(&l->stack_ends);
	free(l->libraries);
	limits_fini(&l->limits);
	free(l);
}

struct deltas *ledger_deltas(struct ledger *l)
{
	return &l->out;
}

const struct frames *ledger_frames(const struct ledger *l)
{
	return &l->frames;
}

int64_t ledger_wall_ns(const struct ledger *l)
{
	return l->has_session ? (int64_t)(l->session.wall_ns - l->session.hdr.ts_ns) : 0;
}

uint64_t ledger_live_allocs(const struct ledger *l)
{
	uint64_t count = 0;

	for (size_t i = 0; i < l->processes.count; i++)
		count += process_live_allocs(l->processes.list[i]);
	return count;
}

uint64_t ledger_memory(const struct ledger *l)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < l->processes.count; i++)
		bytes += process_bytes(l->processes.list[i]);
	return bytes;
}
