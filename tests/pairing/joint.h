/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The records that the BPF programs make of a program's calls (orders.h) go into a ledger, which is compared with a plain
 * model of the driver: which memory lives, in which process and context.
 *
 * With nothing lost, and no call left without a return, the ledger has what the model has. Else what is missing in the
 * ledger, and what is there too much, is no more than what was counted.
 *
 * Sizes are numbers of calls, so that each allocation has a size of its own. Context c is the primary context of CUDA
 * device c - 1.
 */
#ifndef GMT_TESTS_PAIRING_JOINT_H
#define GMT_TESTS_PAIRING_JOINT_H

#include "orders.h"

/* The machine has names that the ledger has, too. */
#undef gmt
#undef runtime
#define thread ledger_thread

#include "core/ledger/ledger_state.h"
#include "core/pipeline/pipeline.h"
#include "core/terms/names.h"
#include "core/terms/probes.h"

#undef thread
#define gmt host.gmt
#define runtime host.runtime

#define JOINT_MEMORIES 32
#define JOINT_DEVICES 3
#define JOINT_AT(i) (0x700000000000ULL + 0x10000ULL * (i))
#define JOINT_INNER 0x600000000000ULL   /* memory of the driver's own */

struct joint_memory {
	bool live, visible, busy;    /* visible: its call has returned; busy: a call that frees it runs */
	bool is_reset;               /* went with its context */
	int doomed;                  /* the call that ends its context, and runs; -1: none */
	__u64 size, context;
};

struct joint_process {
	bool is_here;
	struct joint_memory list[JOINT_MEMORIES];
};

static struct joint {
	struct pipeline *pipeline;
	struct choices *choices;
	struct joint_process processes[HOST_TIDS];
	__u64 ts_ns, told[GMT_LOSS_COUNT];
	bool ends_contexts;
	unsigned int compared, differences;
} joint;

/* ---- records ---- */

static void joint_apply(void *record, size_t size)
{
	((struct gmt_hdr *)record)->ts_ns = joint.ts_ns += 1000;
	if (pipeline_apply(joint.pipeline, record, size))
		WRONG("the ledger has refused a record");
}

static void joint_tell(int tgid, __u16 api, unsigned int count, const __u64 *vals)
{
	union {
		struct gmt_call call;
		unsigned char bytes[sizeof(struct gmt_call) + 3 * sizeof(__u64)];
	} rec = {
		.call = { .hdr = { .kind = GMT_KIND_CALL, .tgid = (__u32)tgid, .tid = (__u32)tgid }, .api = api },
	};

	rec.call.hdr.size = (__u16)(sizeof(rec.call) + count * sizeof(*vals));
	memcpy(rec.call.vals, vals, count * sizeof(*vals));
	joint_apply(&rec, rec.call.hdr.size);
}

/* The process has asked for its devices, and retained their contexts, before the order's calls begin. */
static void joint_devices(int tgid)
{
	for (__u64 i = 0; i < JOINT_DEVICES; i++) {
		joint_tell(tgid, GMT_API_cuDeviceGetUuid_v2, 3, (__u64[]){ 1 + i, 1 + i, i });
		joint_tell(tgid, GMT_API_cuDevicePrimaryCtxRetain, 2, (__u64[]){ 1 + i, i });
	}
}

static void joint_gpus(void)
{
	for (__u64 i = 0; i < JOINT_DEVICES; i++) {
		struct gmt_gpu rec = { .hdr = { .size = sizeof(rec), .kind = GMT_KIND_GPU }, .index = (__u32)i };
		__u64 words[] = { 1 + i, 1 + i };

		memcpy(rec.uuid, words, sizeof(rec.uuid));
		joint_apply(&rec, sizeof(rec));
	}
}

/* The collector tells what was lost, as soon as a record comes through. */
static void joint_losses(void)
{
	struct gmt_loss rec = { .hdr = { .size = sizeof(rec), .kind = GMT_KIND_LOSS } };

	if (!memcmp(joint.told, host.losses, sizeof(joint.told)))
		return;
	memcpy(joint.told, host.losses, sizeof(joint.told));
	memcpy(rec.count, host.losses, sizeof(host.losses));
	joint_apply(&rec, sizeof(rec));
}

/* The specs of orders.h read one value more of some calls: their number. */
static void joint_sent(const void *record, __u32 size)
{
	union {
		struct gmt_hdr hdr;
		struct gmt_call call;
		unsigned char bytes[1024];
	} rec;
	__u32 most;

	if (size > sizeof(rec))
		return;
	memcpy(&rec, record, size);
	joint_losses();
	if (rec.hdr.kind == GMT_KIND_CALL) {
		most = (__u32)(sizeof(rec.call) + gmt_ops[gmt_probes[rec.call.api].op].count * sizeof(__u64));
		size = size < most ? size : most;
		rec.hdr.size = (__u16)size;
	}
	joint_apply(&rec, size);
	if (rec.hdr.kind == GMT_KIND_PROC_FORK || rec.hdr.kind == GMT_KIND_PROC_EXEC)
		joint_devices((int)rec.hdr.tgid);
}

/* ---- the driver ---- */

static void joint_is_new(int tgid)
{
	memset(&joint.processes[tgid], 0, sizeof(joint.processes[tgid]));
	joint.processes[tgid].is_here = true;
}

/* The programs do not see the return of cuGraphExecDestroy, so they cannot tell its parts from calls. */
static bool joint_is_known(__u16 api)
{
	if (api == GMT_API_cuDevicePrimaryCtxReset_v2)
		return joint.ends_contexts;
	/* Where contexts end, most calls allocate and free, so that a context has something to lose. */
	if (api != GMT_API_cuMemAlloc_v2 && api != GMT_API_cuMemFree_v2 && joint.ends_contexts && choose(joint.choices, 3))
		return false;
	return api != GMT_API_cuGraphExecDestroy;
}

static struct joint_memory *joint_find(const struct call *call)
{
	__u64 i = (call->address - JOINT_AT(0)) / 0x10000;

	return call->address >= JOINT_AT(0) && i < JOINT_MEMORIES ? &joint.processes[call->tgid].list[i] : NULL;
}

static bool is_reset_by_other(const struct joint_memory *m, int tid)
{
	return m->doomed >= 0 && machine.calls[m->doomed].tid != tid;
}

static void begin_free(struct call *call)
{
	struct joint_process *p = &joint.processes[call->tgid];

	call->has_address = true;
	for (int tries = 0; tries < 4; tries++) {
		__u32 i = choose(joint.choices, JOINT_MEMORIES);
		struct joint_memory *m = &p->list[i];

		if (!m->live || !m->visible || m->busy || is_reset_by_other(m, call->tid))
			continue;
		m->busy = true;
		call->address = JOINT_AT(i);
		return;
	}
}

/* Nobody else works in a context that is being reset. */
static void begin_reset(struct call *call, int number)
{
	struct joint_process *p = &joint.processes[call->tgid];
	__u64 context = 1 + choose(joint.choices, JOINT_DEVICES);
	bool is_used = false;

	for (int i = 0; i < THREADS; i++) {
		const struct thread *t = &machine.threads[i];

		is_used |= t->is_alive && t->task.tgid == call->tgid && t->task.pid != call->tid && running_calls(t);
	}
	for (int i = 0; i < JOINT_MEMORIES; i++)
		is_used |= p->list[i].live && p->list[i].context == context &&
			   (p->list[i].busy || p->list[i].doomed >= 0 || !p->list[i].visible);
	call->rc = choose(joint.choices, 2) ? 0 : 700; /* CUDA_ERROR_ILLEGAL_ADDRESS */
	call->has_address = true;
	call->address = is_used ? 100 : context - 1; /* no device has the number 100 */
	for (int i = 0; i < JOINT_MEMORIES && !is_used; i++)
		if (p->list[i].live && p->list[i].context == context)
			p->list[i].doomed = number;
}

static void joint_begins(struct call *call)
{
	int number = (int)(call - machine.calls);

	if (call->same != number) {
		call->has_address = machine.calls[call->same].has_address;
		call->address = machine.calls[call->same].address;
	} else if (call->api == GMT_API_cuMemFree_v2 && call->is_own) {
		begin_free(call);
	} else if (call->api == GMT_API_cuDevicePrimaryCtxReset_v2) {
		begin_reset(call, number);
	} else if (call->api == GMT_API_cuMemFree_v2) {
		call->has_address = true;
		call->address = JOINT_INNER;
	}
}

static void work_alloc(struct thread *t, struct call *call)
{
	struct joint_process *p = &joint.processes[call->tgid];

	for (int i = 0; i < JOINT_MEMORIES; i++) {
		if (p->list[i].live)
			continue;
		p->list[i] = (struct joint_memory){
			.live = true, .doomed = -1, .size = (__u64)(call - machine.calls), .context = top_of(&t->contexts),
		};
		call->result = call->address = JOINT_AT(i);
		return;
	}
	call->rc = GMT_CUDA_OUT_OF_MEMORY;
}

static void joint_works(struct thread *t, struct call *call)
{
	struct joint_process *p = &joint.processes[call->tgid];
	struct joint_memory *m = joint_find(call);

	if (!call->is_own) {
		call->result = JOINT_INNER;
	} else if (call->api == GMT_API_cuMemAlloc_v2 && !call->rc) {
		work_alloc(t, call);
	} else if (call->api == GMT_API_cuMemFree_v2 && m && !call->rc) {
		if (!m->live)
			call->rc = 1; /* CUDA_ERROR_INVALID_VALUE */
		m->live = false;
	} else if (call->api == GMT_API_cuDevicePrimaryCtxReset_v2 && !call->rc) {
		if (call->address == 100)
			call->rc = 101; /* CUDA_ERROR_INVALID_DEVICE */
		for (int i = 0; i < JOINT_MEMORIES; i++)
			if (p->list[i].doomed == (int)(call - machine.calls))
				p->list[i].is_reset = p->list[i].live, p->list[i].live = false;
	}
}

static void joint_ends(struct call *call)
{
	struct joint_process *p = &joint.processes[call->tgid];
	struct joint_memory *m = joint_find(call);
	int number = (int)(call - machine.calls);

	if (call->same != number || !call->is_own)
		return;
	if (m && call->api == GMT_API_cuMemAlloc_v2 && m->size == (__u64)number) {
		const struct thread *t = thread_of(call->tid);

		m->visible = true;
		/* Only a callback that leaves another context behind makes a difference. No driver runs one there. */
		m->context = t ? top_of(&t->contexts) : m->context;
	}
	if (m && call->api == GMT_API_cuMemFree_v2)
		m->busy = false;
	for (int i = 0; i < JOINT_MEMORIES; i++)
		if (p->list[i].doomed == number)
			p->list[i].doomed = -1;
}

/* ---- the comparison ---- */

static void tell_counts(void)
{
	const struct ledger *l = joint.pipeline->ledger;

	for (int i = 0; i < GMT_LOSS_COUNT; i++)
		if (host.losses[i])
			TELL("lost: %s %llu\n", gmt_loss_name(i), host.losses[i]);
	for (size_t i = 0; i < l->processes.count; i++)
		for (int a = 0; a < GMT_ANOMALY_COUNT; a++)
			if (l->processes.list[i]->anomalies[a])
				TELL("anomaly: %s %llu\n", gmt_anomaly_name(a), (__u64)l->processes.list[i]->anomalies[a]);
}

static __u64 joint_counted(void)
{
	const struct ledger *l = joint.pipeline->ledger;
	__u64 counted = collector.unclear;

	for (int i = 0; i < GMT_LOSS_COUNT; i++)
		counted += host.losses[i];
	for (size_t i = 0; i < l->processes.count; i++)
		for (int a = 0; a < GMT_ANOMALY_COUNT; a++)
			counted += a == GMT_ANOMALY_GPU_UNKNOWN ? 0 : l->processes.list[i]->anomalies[a];
	return counted;
}

/* The programs did not know the thread's context, and said so. The memory is on the unknown GPU, and is kept when its
 * context ends. */
static bool is_of_unknown_context(const struct joint_memory *m, const struct alloc *a)
{
	return m->is_reset && !m->live && a && a->size == m->size && !a->owner && !a->row;
}

static void compare_memory(int tgid, const struct process *of, const struct joint_memory *m, const struct alloc *a)
{
	bool is_there = a && a->size == m->size;
	int gpu;

	if (is_of_unknown_context(m, a))
		return;
	joint.compared++;
	joint.differences += m->live != is_there || (a && !is_there);
	if (m->live != is_there || (a && !is_there))
		TELL("process %d: memory of %llu bytes in context %llu %s, the ledger has %lld\n", tgid, m->size, m->context,
		     m->live ? "lives" : "is gone", a ? (long long)a->size : -1);
	if (machine.is_exact && m->live != is_there)
		WRONG("process %d: memory of %llu bytes %s", tgid, m->size, m->live ? "is missing" : "was freed");
	if (!m->live || !is_there)
		return;
	gpu = of->account.rows[a->row].gpu;
	if (!collector.lost_context && gpu != GPU_UNKNOWN && (__u64)gpu + 1 != m->context)
		WRONG("process %d: memory of %llu bytes on GPU %d, not in context %llu", tgid, m->size, gpu, m->context);
}

static void joint_compare(int tgid)
{
	const struct process *of = process_newest(&joint.pipeline->ledger->processes, (__u32)tgid);
	const struct joint_process *p = &joint.processes[tgid];
	__u64 bytes = 0, count = 0;

	if (!of || of->exited || !host_target((__u32)tgid))
		return;
	for (int i = 0; i < JOINT_MEMORIES; i++) {
		const struct alloc *a = hash_get(&of->allocs.by_address, JOINT_AT(i));
		bool counts = p->list[i].live || is_of_unknown_context(&p->list[i], a);

		compare_memory(tgid, of, &p->list[i], a);
		bytes += counts ? p->list[i].size : 0;
		count += counts;
	}
	if (!machine.is_exact)
		return;
	if (of->account.by_class[GMT_CLASS_DEVICE].bytes.live != bytes ||
	    of->account.by_class[GMT_CLASS_DEVICE].live_count != count)
		WRONG("process %d has %llu bytes, not %llu", tgid, (__u64)of->account.by_class[GMT_CLASS_DEVICE].bytes.live, bytes);
}

/* ---- an order ---- */

static void finish_calls(struct thread *t)
{
	while (t->is_alive && t->depth > 1)
		if (top_activation(t)->is_call)
			return_call(t);
		else
			t->depth--;
}

static void joint_end(void)
{
	for (int i = 0; i < THREADS; i++)
		finish_calls(&machine.threads[i]);
	joint_losses();
	for (int i = 0; i < THREADS; i++)
		if (machine.threads[i].is_alive && machine.threads[i].task.pid == machine.threads[i].task.tgid)
			joint_compare(machine.threads[i].task.tgid);
	tell_counts();
	/* A thread that is killed inside of a call leaves parts of the call, which are counted. */
	if (machine.is_exact && joint_counted() != host.losses[GMT_LOSS_RETURN_UNSEEN] + collector.unclear)
		WRONG("%llu were counted, and nothing was lost", joint_counted());
	for (int i = 0; i < THREADS; i++)
		if (machine.threads[i].is_alive)
			end_process(&machine.threads[i]);
	/* Calls that were left are counted at their thread's end at the latest. A context that ends unseen takes along more
	 * than one allocation. */
	if (joint.ends_contexts ? joint.differences && !joint_counted() : joint.differences > 2 * joint_counted())
		WRONG("%u differences, and %llu were counted", joint.differences, joint_counted());
	check_counts();
}

static void joint_run(struct choices *c, unsigned int steps, bool is_exact)
{
	begin_order(c);
	memset(&joint, 0, sizeof(joint));
	joint.choices = c;
	joint.ends_contexts = choose(c, 2);
	joint.pipeline = pipeline_new(&(struct pipeline_options){ 0 });
	hooks = (struct hooks){ joint_is_known, joint_begins, joint_works, joint_ends, joint_is_new, joint_sent };
	machine.is_exact = is_exact;
	joint_gpus();
	joint_is_new(50);
	joint_devices(50);
	for (unsigned int i = 0; i < steps && take_step(c, true); i++)
		;
	joint_end();
	hooks = (struct hooks){ NULL };
	pipeline_free(joint.pipeline);
}

#endif
