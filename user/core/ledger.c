/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Takes records in: checks each against what its kind and its operation demand, and hands it to the
 * part that it concerns, by two tables. Any bytes may come; what is malformed is counted.
 */
#include "core/ledger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "core/balance.h"
#include "core/calls.h"
#include "core/ledger_state.h"
#include "core/probes.h"

static int apply_call(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	int err = calls_apply(p, hdr);

	if (err != -ENOENT)
		return err;
	l->records_unknown++;
	return 0;
}

/* ---- the kernel's records ---- */

/*
 * UVM names a MIG instance by the UUID of its GPU instance, which no inventory has: then it is the
 * one instance that the process uses (CUDA uses no second one). Unknown until that is known.
 */
static int gpu_of_uvm(struct ledger *l, const struct process *p, const uint8_t *uuid)
{
	int gpu = gpus_number(&l->gpus, uuid);

	if (gpu == GPU_UNKNOWN || l->gpus.list[gpu].listed || !l->gpus.has_mig)
		return gpu;
	return p->mig;
}

static struct rm *rm_of(struct process *p)
{
	if (!p->rm)
		p->rm = rm_new();
	return p->rm;
}

static void follow_physical(struct process *p, uint64_t ts_ns)
{
	for (unsigned int i = 0; i < p->account.count; i++) {
		struct rm_physical physical;

		balance_physical(p, &p->account.rows[i], &physical);
		level_set(&p->account.rows[i].physical, physical.total, ts_ns);
	}
}

static void count_change(struct process *p, const struct rm_change *change, uint64_t ts_ns)
{
	p->anomalies[GMT_ANOMALY_RM_FREE_UNKNOWN] += change->unknown_free;
	p->anomalies[GMT_ANOMALY_RM_DOUBLE_ALLOC] += change->double_alloc;
	if (change->bytes)
		account_row(&p->account, change->gpu);
	if (change->bytes || change->several || change->double_alloc)
		follow_physical(p, ts_ns);
}

static int apply_rm_alloc(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	const struct gmt_rm_alloc *rec = (const void *)hdr;
	struct rm_change change = { .gpu = GPU_UNKNOWN };

	(void)l;
	rm_alloc(rm_of(p), rec, gmt_purpose_of_api(rec->cause.api), &change);
	count_change(p, &change, hdr->ts_ns);
	return 0;
}

static int apply_rm_free(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	struct rm_change change = { .gpu = GPU_UNKNOWN };

	(void)l;
	rm_release(rm_of(p), (const void *)hdr, &change);
	count_change(p, &change, hdr->ts_ns);
	return 0;
}

/* Bytes went from one GPU, or the unknown one, to another, with no rm_change that says so. */
static void follow_moves(struct process *p, uint64_t moves_before, int gpu, uint64_t ts_ns)
{
	struct view_level *unknown;

	if (rm_moves(p->rm) == moves_before)
		return;
	if (gpu != GPU_UNKNOWN)
		account_row(&p->account, gpu);
	follow_physical(p, ts_ns);
	unknown = &p->account.rows[0].physical;
	/* What was never there in truth leaves no peak behind. */
	if (!unknown->live)
		*unknown = (struct view_level){ 0 };
}

static int apply_rm_dup(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	uint64_t moves = rm_moves(rm_of(p));

	(void)l;
	rm_dup(p->rm, (const void *)hdr);
	follow_moves(p, moves, GPU_UNKNOWN, hdr->ts_ns);
	return 0;
}

static int apply_uvm_gpu(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	process_named(p, gpu_of_uvm(l, p, ((const struct gmt_uvm_gpu *)hdr)->uuid));
	return 0;
}

static int apply_uvm_vaspace(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	const struct gmt_uvm_vaspace *rec = (const void *)hdr;
	int gpu = gpu_of_uvm(l, p, rec->uuid);

	uint64_t moves = rm_moves(rm_of(p));

	process_named(p, gpu);
	rm_vaspace(p->rm, rec, gpu);
	follow_moves(p, moves, gpu, hdr->ts_ns);
	return 0;
}

static int apply_uvm_map(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	const struct gmt_uvm_map *rec = (const void *)hdr;
	int gpu = gpu_of_uvm(l, p, rec->uuid);

	uint64_t moves = rm_moves(rm_of(p));

	rm_map(p->rm, rec, gpu);
	follow_moves(p, moves, gpu, hdr->ts_ns);
	gpu = rm_gpu_of_address(p->rm, rec->base);
	if (gpu != GPU_UNKNOWN) {
		alloc_resolve_at(p, rec->base, gpu, hdr->ts_ns);
		vmm_resolve_at(p, rec->base, gpu, hdr->ts_ns);
	}
	return 0;
}

static int apply_uvm_unmap(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	(void)l;
	rm_unmap(rm_of(p), (const void *)hdr);
	return 0;
}

static int apply_uvm_free(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	(void)l;
	rm_range_free(rm_of(p), (const void *)hdr);
	return 0;
}

/* ---- frameworks ---- */

static int apply_fw_mem(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	(void)l;
	return torch_memory(p, (const void *)hdr);
}

/* ---- processes ---- */

static int apply_exec(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	(void)l;
	process_exec(p, (const void *)hdr);
	return 0;
}

static int apply_exit(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	(void)l;
	process_exit(p, (const void *)hdr);
	return 0;
}

static int apply_attach(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	(void)l;
	process_attach(p, (const void *)hdr);
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
	process_fork(&l->processes, &l->gpus, (const void *)hdr);
	return 0;
}

static int apply_seen(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	(void)p;
	process_seen(&l->processes, &l->gpus, (const void *)hdr);
	return 0;
}

static int apply_proc(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	(void)p;
	process_facts(&l->processes, &l->gpus, (const void *)hdr);
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

/* Stacks and their names are carried; nothing is booked by them yet. */
static int apply_carried(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	(void)l;
	(void)p;
	(void)hdr;
	return 0;
}

static int apply_end(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	(void)p;
	l->end_reason = ((const struct gmt_end *)hdr)->reason;
	return 0;
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
		[GMT_KIND_RM_ALLOC] = { sizeof(struct gmt_rm_alloc), OF_LIFE, true, apply_rm_alloc },
		[GMT_KIND_RM_FREE] = { sizeof(struct gmt_rm_free), OF_LIFE, true, apply_rm_free },
		[GMT_KIND_RM_DUP] = { sizeof(struct gmt_rm_dup), OF_LIFE, true, apply_rm_dup },
		[GMT_KIND_UVM_GPU] = { sizeof(struct gmt_uvm_gpu), OF_LIFE, true, apply_uvm_gpu },
		[GMT_KIND_UVM_VASPACE] = { sizeof(struct gmt_uvm_vaspace), OF_LIFE, true, apply_uvm_vaspace },
		[GMT_KIND_UVM_MAP] = { sizeof(struct gmt_uvm_map), OF_LIFE, true, apply_uvm_map },
		[GMT_KIND_UVM_UNMAP] = { sizeof(struct gmt_uvm_unmap), OF_LIFE, true, apply_uvm_unmap },
		[GMT_KIND_UVM_FREE] = { sizeof(struct gmt_uvm_free), OF_LIFE, true, apply_uvm_free },
		[GMT_KIND_PROC_FORK] = { sizeof(struct gmt_proc_fork), OF_PROCESS, false, apply_fork },
		[GMT_KIND_PROC_EXEC] = { sizeof(struct gmt_proc_exec), OF_LIFE, false, apply_exec },
		[GMT_KIND_PROC_SEEN] = { sizeof(struct gmt_proc_exec), OF_PROCESS, false, apply_seen },
		[GMT_KIND_FW_MEM] = { sizeof(struct gmt_fw_mem), OF_LIFE, true, apply_fw_mem },
		[GMT_KIND_STACK] = { sizeof(struct gmt_stack), OF_PROCESS, false, apply_carried },
		[GMT_KIND_STACK_COPY] = { sizeof(struct gmt_stack_copy), OF_PROCESS, false, apply_carried },
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
		[LOW(GMT_KIND_SYMBOL)] = { sizeof(struct gmt_symbol), OF_SESSION, false, apply_carried },
		[LOW(GMT_KIND_STACK_FRAMES)] = { sizeof(struct gmt_stack_frames), OF_PROCESS, false, apply_carried },
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
		p = process_get(&l->processes, &l->gpus, hdr);
	if (p->exited) {
		/* The collector asks and writes a moment later: its words about the dead are no riddle. */
		p->anomalies[GMT_ANOMALY_AFTER_EXIT] += hdr->kind < GMT_KIND_USER_FIRST;
		return 0;
	}
	p->touched |= kind->is_use;
	return kind->apply(l, p, hdr);
}

static int apply(struct ledger *l, const struct gmt_hdr *hdr)
{
	unsigned int low = LOW(hdr->kind);
	const struct kind *kind = &kinds[hdr->kind >= GMT_KIND_USER_FIRST][low < KIND_LIMIT ? low : 0];

	if (low >= KIND_LIMIT || !kind->apply) {
		l->records_unknown++;
		return 0;
	}
	if (hdr->size < kind->size || (kind->subject != OF_SESSION && !hdr->tgid))
		return -EINVAL;
	if (kind->subject == OF_LIFE || kind->subject == OF_KNOWN)
		return apply_to_life(l, kind, hdr);
	return kind->apply(l, NULL, hdr);
}

int ledger_apply(struct ledger *l, const void *record, size_t size)
{
	/* As much of a misaligned record as any known kind has. */
	_Alignas(struct gmt_hdr) unsigned char aligned[1024];
	const struct gmt_hdr *hdr = record;
	uint16_t stated;

	if (size < sizeof(*hdr) || size % 8)
		goto malformed;
	memcpy(&stated, record, sizeof(stated));
	if (stated != size)
		goto malformed;
	if ((uintptr_t)record % _Alignof(struct gmt_hdr)) {
		memcpy(aligned, record, size < sizeof(aligned) ? size : sizeof(aligned));
		hdr = (const void *)aligned;
	}
	if (apply(l, hdr))
		goto malformed;
	if (!l->records++)
		l->start_ns = hdr->ts_ns;
	if (hdr->ts_ns > l->now_ns)
		l->now_ns = hdr->ts_ns;
	return 0;
malformed:
	l->records_malformed++;
	return -EINVAL;
}

/* ---- the ledger itself ---- */

struct ledger *ledger_new(void)
{
	struct ledger *l = xcalloc(1, sizeof(*l));

	processes_init(&l->processes);
	l->end_reason = UINT32_MAX;
	return l;
}

void ledger_free(struct ledger *l)
{
	if (!l)
		return;
	processes_fini(&l->processes);
	gpus_fini(&l->gpus);
	free(l->libraries);
	free(l);
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
