/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The records that the BPF programs make of a program's calls (orders.h) go into a ledger, which is compared with a plain
 * model of the driver (driver.h): which memory lives, in which process and context. The records of ioctls go there, too:
 * what the kernel has given to a process is compared with a model of the kernel's driver (rm_driver.h).
 *
 * With nothing lost, and no call left without a return, the ledger has what the model has, whenever none of a process's
 * threads is inside of a call. Else what is missing in the ledger at the end, and what is there too much, is no more than
 * what was counted.
 */
#ifndef GMT_TESTS_PAIRING_JOINT_H
#define GMT_TESTS_PAIRING_JOINT_H

#include "driver.h"
#include "rm_driver.h"

/* The machine has names that the ledger has, too. */
#undef gmt
#undef runtime
#define thread ledger_thread

#include "core/ledger/balance.h"
#include "core/ledger/ledger_state.h"
#include "core/pipeline/pipeline.h"
#include "core/terms/names.h"
#include "core/terms/probes.h"

#undef thread
#define gmt host.gmt
#define runtime host.runtime

static struct joint {
	struct pipeline *pipeline;
	__u64 ts_ns, told[GMT_LOSS_COUNT];
	unsigned int looks, compared, differences, rm_differences;
	unsigned int ends;   /* of processes that had the kernel's memory */
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

/* The process has asked for its devices, and mostly retained their contexts, before the order's calls begin. The kernel
 * has named all GPUs for it: so memory of an unknown context is on none of these. */
static void joint_devices(int tgid)
{
	for (__u64 i = 0; i < DRIVER_DEVICES; i++) {
		struct gmt_uvm_gpu gpu = { .hdr = { .size = sizeof(gpu), .kind = GMT_KIND_UVM_GPU, .tgid = (__u32)tgid } };

		memcpy(gpu.uuid, (__u64[]){ 1 + i, 1 + i }, sizeof(gpu.uuid));
		joint_apply(&gpu, sizeof(gpu));
		joint_tell(tgid, GMT_API_cuDeviceGetUuid_v2, 3, (__u64[]){ 1 + i, 1 + i, i });
		if (!driver.has_greens)
			joint_tell(tgid, GMT_API_cuDevicePrimaryCtxRetain, 2, (__u64[]){ 1 + i, i });
	}
}

static void joint_gpus(void)
{
	for (__u64 i = 0; i < DRIVER_DEVICES; i++) {
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

/* The kernel's bytes of a process on a GPU, or on the unknown one. A process that has ended has what it had then. */
static __u64 physical_bytes(const struct process *of, int gpu)
{
	for (unsigned int i = 0; i < of->account.count; i++) {
		const struct row *row = &of->account.rows[i];
		struct rm_physical physical;

		if (row->gpu != gpu)
			continue;
		balance_physical(of, row, &physical);
		if ((__u64)row->physical.live != physical.total)
			WRONG("the view has %llu bytes of the kernel, not %llu", (__u64)row->physical.live, (__u64)physical.total);
		return physical.total;
	}
	return 0;
}

/* Memory is on its own GPU, or on the unknown one until the GPU is told. */
static void compare_physical(int tgid, const struct process *of)
{
	__u64 bytes = physical_bytes(of, GPU_UNKNOWN), true_bytes = 0;
	bool is_wrong = false;

	for (int gpu = 0; gpu < RM_GPUS; gpu++) {
		__u64 here = physical_bytes(of, gpu);

		is_wrong |= here < rm_bytes(tgid, gpu, true) || here > rm_bytes(tgid, gpu, false);
		bytes += here;
		true_bytes += rm_bytes(tgid, gpu, false);
	}
	is_wrong |= bytes != true_bytes;
	joint.rm_differences += is_wrong;
	if (is_wrong)
		TELL("process %d has %llu bytes of the kernel, the ledger %llu\n", tgid, true_bytes, bytes);
	if (machine.is_exact && is_wrong)
		WRONG("process %d has %llu bytes of the kernel, or on other GPUs; the ledger has %llu", tgid, true_bytes, bytes);
}

static void joint_ended(int tgid)
{
	const struct process *of = process_newest(&joint.pipeline->ledger->processes, (__u32)tgid);

	if (!of || !of->exited)
		return;
	joint.ends += rm_has_memory(tgid);
	compare_physical(tgid, of);
}

/* The specs of orders.h read one value more of some calls, or another one: their number. */
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
		if (is_begin(rec.call.api))
			rec.call.vals[1] = machine.calls[rec.call.vals[1] % CALLS].address;
		most = (__u32)(sizeof(rec.call) + gmt_ops[gmt_probes[rec.call.api].op].count * sizeof(__u64));
		size = size < most ? size : most;
		rec.hdr.size = (__u16)size;
	}
	joint_apply(&rec, size);
	if (rec.hdr.kind == GMT_KIND_PROC_FORK || rec.hdr.kind == GMT_KIND_PROC_EXEC)
		joint_devices((int)rec.hdr.tgid);
	if (rec.hdr.kind == GMT_KIND_PROC_EXIT)
		joint_ended((int)rec.hdr.tgid);
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
static bool is_of_unknown_context(const struct driver_memory *m, const struct alloc *a)
{
	return m->is_reset && !m->live && a && a->size == m->size && !a->owner && !a->row;
}

static void compare_memory(int tgid, const struct process *of, const struct driver_memory *m, const struct alloc *a)
{
	bool is_there = a && a->size == m->size;
	int gpu, device;

	if (is_of_unknown_context(m, a))
		return;
	joint.compared++;
	joint.differences += m->live != is_there || (a && !is_there);
	if (m->live != is_there || (a && !is_there))
		TELL("process %d: memory of %llu bytes in context %llu %s, the ledger has %lld\n", tgid, m->size, m->context,
		     m->live ? "lives" : "is gone", a ? (long long)a->size : -1);
	if (machine.is_exact && m->live != is_there)
		WRONG("process %d: memory of %llu bytes %s", tgid, m->size, m->live ? "is missing" : "was freed");
	/* If the record of the process's beginning was lost, its devices are not known, and the first GPU that an ioctl has
	 * named is taken for all. */
	if (!m->live || !is_there || context_gpu(&of->contexts, DRIVER_DEVICES - 1) == GPU_UNKNOWN)
		return;
	gpu = of->account.rows[a->row].gpu;
	device = m->context ? (int)driver.processes[tgid].contexts[m->context].device : GPU_UNKNOWN;
	if (!collector.lost_context && gpu != GPU_UNKNOWN && gpu != device)
		WRONG("process %d: memory of %llu bytes on GPU %d, not in context %llu", tgid, m->size, gpu, m->context);
}

static void joint_compare(int tgid)
{
	const struct process *of = process_newest(&joint.pipeline->ledger->processes, (__u32)tgid);
	const struct driver_process *p = &driver.processes[tgid];
	__u64 bytes = 0, count = 0;

	if (!of || of->exited || !host_target((__u32)tgid))
		return;
	compare_physical(tgid, of);
	for (int i = 0; i < DRIVER_MEMORIES; i++) {
		const struct alloc *a = hash_get(&of->allocs.by_address, DRIVER_AT(i));
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

/* A thread that is killed inside of a call leaves parts of the call, which are counted. */
static void check_nothing_counted(void)
{
	if (joint_counted() != host.losses[GMT_LOSS_RETURN_UNSEEN] + collector.unclear)
		WRONG("%llu were counted, and nothing was lost", joint_counted());
}

static bool is_quiet(int tgid)
{
	for (int i = 0; i < THREADS; i++)
		if (machine.threads[i].is_alive && machine.threads[i].task.tgid == tgid && running_calls(&machine.threads[i]))
			return false;
	return true;
}

/* Compares the processes that are inside of no call. */
static void joint_look(void)
{
	for (int i = 0; i < THREADS; i++) {
		const struct task_struct *task = &machine.threads[i].task;

		if (!machine.threads[i].is_alive || task->pid != task->tgid || !is_quiet(task->tgid))
			continue;
		joint.looks++;
		joint_compare(task->tgid);
	}
}

static void joint_end(void)
{
	for (int i = 0; i < THREADS; i++)
		finish_calls(&machine.threads[i]);
	joint_losses();
	joint_look();
	tell_counts();
	if (machine.is_exact)
		check_nothing_counted();
	for (int i = 0; i < THREADS; i++)
		if (machine.threads[i].is_alive)
			end_process(&machine.threads[i]);
	/* Calls that were left are counted at their thread's end at the latest. A context that ends unseen takes along more
	 * than one allocation. */
	if (driver.ends_contexts ? joint.differences && !joint_counted() : joint.differences > 2 * joint_counted())
		WRONG("%u differences, and %llu were counted", joint.differences, joint_counted());
	if (joint.rm_differences && !joint_counted())
		WRONG("%u differences from the kernel's driver, and nothing was counted", joint.rm_differences);
	check_counts();
}

static void joint_is_new(int tgid)
{
	driver_is_new(tgid);
	rm_is_new(tgid);
}

static void joint_begin(struct choices *c, bool is_exact)
{
	struct gmt_attach attach = { .hdr = { .size = sizeof(attach), .kind = GMT_KIND_ATTACH, .tgid = 50 },
				     .flags = GMT_ATTACH_FROM_START };

	begin_order(c);
	memset(&joint, 0, sizeof(joint));
	driver.choices = c;
	driver.ends_contexts = choose(c, 3);
	driver.has_greens = driver.ends_contexts && choose(c, 2);
	joint.pipeline = pipeline_new(&(struct pipeline_options){ 0 });
	hooks = driver_hooks;
	hooks.sent = joint_sent;
	hooks.is_new = joint_is_new;
	hooks.system_call = rm_event;
	gmt.config.nvidia_major = RM_MAJOR;
	gmt.config.uvm_major = UVM_MAJOR;
	machine.is_exact = is_exact;
	joint_gpus();
	joint_apply(&attach, sizeof(attach));
	joint_is_new(50);
	joint_devices(50);
}

static void joint_run(struct choices *c, unsigned int steps, bool is_exact)
{
	joint_begin(c, is_exact);
	for (unsigned int i = 0; i < steps && take_step(c, true); i++)
		if (is_exact && i % 8 == 0)
			joint_look();
	joint_end();
	hooks = (struct hooks){ NULL };
	pipeline_free(joint.pipeline);
}

#endif
