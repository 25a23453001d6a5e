/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes orders of events that a driver and preemption can give (orders_world.h), and applies their records to a ledger.
 * Compares the ledger with the model whenever no call runs.
 *
 * With nothing lost, the sums are equal and there is no anomaly. With lost records, the losses are counted, and: what
 * was allocated after the last loss is there, and no two allocations overlap at the end.
 *
 * The file that includes this defines order_pick(below), order_failed(text), order_goes_on(), which says whether a step
 * follows, and order_tells(), which says whether to print the records.
 */
#ifndef GPUMEMTRACE_TESTS_ORDERS_H
#define GPUMEMTRACE_TESTS_ORDERS_H

#include <stdio.h>

#include "orders_world.h"

#include <gpumemtrace/api.h>
#include <gpumemtrace/wire.h>

#include "core/ledger/ledger_state.h"
#include "core/terms/probes.h"
#include "core/pipeline/pipeline.h"

static unsigned int order_pick(unsigned int below);
static void order_failed(const char *text);
static bool order_goes_on(void);
static bool order_tells(void);

struct order {
	struct world world;
	struct pipeline *pipeline;
	bool is_lossy;
	bool has_kernel;          /* the kernel driver's records come, too */
	bool ends_at_return;      /* a bug that was: calls that end a context are sent at their return */
	bool overlaps_at_end;     /* before the end, what had been freed unseen overlapped */
	uint64_t ts_ns, lost, compared;
};

/* ---- records ---- */

static void tell_record(const struct gmt_hdr *hdr)
{
	const struct gmt_call *call = (const void *)hdr;
	size_t count = (hdr->size - sizeof(*call)) / sizeof(call->vals[0]);

	fprintf(stderr, "%llu %u/%u kind %u", (unsigned long long)hdr->ts_ns / 1000, hdr->tgid, hdr->tid, hdr->kind);
	if (hdr->kind == GMT_KIND_CALL)
		fprintf(stderr, " %s phase %u rc %d seq %u", gmt_api_symbol(call->api), call->phase, call->rc, call->seq);
	for (size_t i = 0; hdr->kind == GMT_KIND_CALL && i < count; i++)
		fprintf(stderr, " %llx", (unsigned long long)call->vals[i]);
	fputc('\n', stderr);
}

static void apply(struct order *o, struct process_here *p, void *record, uint16_t kind, size_t size, uint32_t tid)
{
	struct gmt_hdr *hdr = record;

	*hdr = (struct gmt_hdr){ .size = (uint16_t)size, .kind = kind, .tgid = p ? p->pid : 0, .tid = tid,
				 .ts_ns = o->ts_ns += 1000 };
	if (order_tells())
		tell_record(hdr);
	if (pipeline_apply(o->pipeline, record, size))
		order_failed("a record was refused");
}

static void lose(struct order *o, struct process_here *p)
{
	o->lost++;
	p->lost++;
	for (int i = 0; i < MEMORIES; i++)
		p->memories[i].seen = false;
	for (int i = 0; i < OBJECTS; i++)
		p->objects[i].seen = false;
}

union call_record {
	struct gmt_call call;
	unsigned char bytes[sizeof(struct gmt_call) + GMT_CALL_VALS * sizeof(uint64_t)];
};

/* False: the record was lost. */
static bool send_call(struct order *o, struct process_here *p, int thread, enum gmt_api api, unsigned int phase,
		      unsigned int count)
{
	struct thread_here *t = &p->threads[thread];
	union call_record rec = { .call = {
		.api = (uint16_t)api, .phase = (uint8_t)phase, .seq = t->begun, .stack_id = 1 + order_pick(3),
		.rc = phase == GMT_PHASE_ENTER || !t->fails ? 0 : phase == GMT_PHASE_UNDO ? 700 : 2,
	} };

	memcpy(rec.call.vals, t->val, count * sizeof(t->val[0]));
	if (o->is_lossy && !order_pick(24)) {
		lose(o, p);
		return false;
	}
	apply(o, p, &rec, GMT_KIND_CALL, sizeof(rec.call) + count * sizeof(t->val[0]), p->pid + (uint32_t)thread);
	return true;
}

static void uuid_of(int gpu, uint8_t *uuid)
{
	memset(uuid, 0x10 + gpu, GMT_UUID_BYTES);
}

static void tell_gpus(struct order *o)
{
	for (int gpu = 0; gpu < GPUS_HERE; gpu++) {
		struct gmt_gpu rec = { .index = (uint32_t)gpu };

		uuid_of(gpu, rec.uuid);
		apply(o, NULL, &rec, GMT_KIND_GPU, sizeof(rec), 0);
	}
}

static void tell_call(struct order *o, struct process_here *p, enum gmt_api api, unsigned int count, const uint64_t *val)
{
	union call_record rec = { .call = { .api = (uint16_t)api } };

	memcpy(rec.call.vals, val, count * sizeof(*val));
	apply(o, p, &rec, GMT_KIND_CALL, sizeof(rec.call) + count * sizeof(*val), p->pid);
}

static void tell_ordinals(struct order *o, struct process_here *p)
{
	for (uint64_t gpu = 0; gpu < GPUS_HERE; gpu++) {
		uint64_t val[3] = { 0, 0, gpu };

		uuid_of((int)gpu, (uint8_t *)val);
		tell_call(o, p, GMT_API_cuDeviceGetUuid_v2, 3, val);
	}
	tell_call(o, p, GMT_API_cuDeviceGetDefaultMemPool, 2, (uint64_t[]){ POOL_HERE, 0 });
}

/* ---- lives ---- */

static void kernel_begin(struct order *o, struct process_here *p);

static void new_process(struct process_here *p, uint32_t pid, bool from_start)
{
	*p = (struct process_here){ .alive = true, .pid = pid, .from_start = from_start,
				     .was_late = !from_start };
	for (int c = 0; c < GPUS_HERE; c++)
		p->contexts[c].gpu = c;
}

/* The records of the pid's next process follow the exit. */
static void lose_fork(struct order *o, struct process_here *p)
{
	struct gmt_loss loss = { .count = { ++o->lost } };

	p->lost++;
	apply(o, NULL, &loss, GMT_KIND_LOSS, sizeof(loss), 0);
}

static void begin_life(struct order *o, struct process_here *p, uint32_t pid, bool from_start)
{
	struct gmt_proc_fork fork = { .parent_tgid = 1, .start_ns = o->ts_ns };
	struct gmt_attach attach = { .flags = from_start ? GMT_ATTACH_FROM_START : 0 };

	bool is_lost = from_start && p->was_here && o->is_lossy && !order_pick(3);

	new_process(p, pid, from_start);
	if (is_lost)
		lose_fork(o, p);
	else if (from_start)
		apply(o, p, &fork, GMT_KIND_PROC_FORK, sizeof(fork), pid);
	apply(o, p, &attach, GMT_KIND_ATTACH, sizeof(attach), 0);
	tell_ordinals(o, p);
	kernel_begin(o, p);
	for (int i = 0; !from_start && i < 5; i++) {
		struct memory_here *m = new_memory(p);

		*m = (struct memory_here){ .live = true, .visible = true, .before = true, .place = 4 * i, .size = 2,
					   .class = GMT_CLASS_DEVICE, .context = 0, .object = -1 };
	}
	if (!from_start)
		p->contexts[0].alive = p->contexts[0].visible = true, p->contexts[0].refs = 100;
}

/* The calls that run never return. */
static void end_life(struct order *o, struct process_here *p)
{
	struct gmt_proc_exit rec = { 0 };

	apply(o, p, &rec, GMT_KIND_PROC_EXIT, sizeof(rec), p->pid);
	p->alive = false;
	p->was_here = true;
}

static void exec(struct order *o, struct process_here *p)
{
	struct gmt_proc_exec rec = { .start_ns = 0 };
	uint32_t pid = p->pid, seqs[THREADS];
	uint64_t lost = p->lost;
	bool was_late = p->was_late;

	for (int t = 0; t < THREADS; t++)
		seqs[t] = p->threads[t].seq;
	apply(o, p, &rec, GMT_KIND_PROC_EXEC, sizeof(rec), pid);
	new_process(p, pid, true);
	p->lost = lost;
	p->was_late = was_late;
	for (int t = 0; t < THREADS; t++)
		p->threads[t].seq = seqs[t];
	tell_ordinals(o, p);
	kernel_begin(o, p);
}

/* ---- sums ---- */

struct sums {
	uint64_t bytes[GPUS_HERE][GMT_CLASS_COUNT], count[GPUS_HERE][GMT_CLASS_COUNT];
	uint64_t all_bytes[GMT_CLASS_COUNT], all_count[GMT_CLASS_COUNT];
};

static void add_sum(struct sums *s, int gpu, int class, uint64_t bytes)
{
	s->all_bytes[class] += bytes;
	s->all_count[class]++;
	if (gpu < 0)
		return;
	s->bytes[gpu][class] += bytes;
	s->count[gpu][class]++;
}

#include "orders_calls.h"
#include "orders_steps.h"

/* ---- the comparison ---- */

static void model_sums(const struct process_here *p, struct sums *s)
{
	for (int i = 0; i < MEMORIES; i++) {
		const struct memory_here *m = &p->memories[i];

		if (m->live && !m->before && m->kind != MEMORY_MAPPING)
			add_sum(s, m->gpu, m->class, m->kind == MEMORY_IMPORT ? 0 : (uint64_t)m->size * UNIT);
	}
	for (int i = 0; i < OBJECTS; i++)
		if (p->objects[i].live)
			add_sum(s, p->objects[i].gpu, GMT_CLASS_VMM, (uint64_t)p->objects[i].size * UNIT);
	more_sums(p, s);
}

static void compare_class(const struct process_here *p, const struct process *of, const struct sums *s, int class)
{
	const struct view_class *all = &of->account.by_class[class];

	if (all->bytes.live != s->all_bytes[class] || all->live_count != s->all_count[class])
		order_failed("a class of the process differs from the model");
	for (int gpu = 0; gpu < GPUS_HERE && p->from_start && account_has_row((unsigned int)class); gpu++) {
		const struct row *row = &of->account.rows[account_find_row(&of->account, gpu)];
		bool has_row = row->gpu == gpu;

		if ((has_row ? row->by_class[class].bytes.live : 0) != s->bytes[gpu][class] ||
		    (has_row ? row->by_class[class].live_count : 0) != s->count[gpu][class])
			order_failed("a class on a GPU differs from the model");
	}
}

/* A missing allocation would have been dropped without a count. */
static void compare_seen(const struct process_here *p, const struct process *of)
{
	for (int i = 0; i < MEMORIES; i++) {
		const struct memory_here *m = &p->memories[i];
		const struct hash *table = m->kind == MEMORY_MAPPING ? &of->vmm.mappings : &of->allocs.by_address;

		if (m->live && m->seen && m->kind != MEMORY_IMPORT && !hash_get(table, address_of(m)))
			order_failed("memory that was seen is not there");
	}
}

/* A stream or a capture that stays behind would make graphs of what is allocated later. */
static void compare_streams(const struct process_here *p, const struct process *of)
{
	size_t count = 0;

	for (int i = 0; i < STREAMS; i++)
		count += p->things.streams[i].live;
	if (hash_count(&of->contexts.streams) != count || of->contexts.capturing != (uint32_t)captures(p) ||
	    hash_count(&of->graphs.captures) != (size_t)captures(p))
		order_failed("streams or captures differ from the model");
}

static void compare(struct order *o, const struct process_here *p)
{
	const struct process *of = process_newest(&o->pipeline->ledger->processes, p->pid);
	struct sums s = { 0 };

	o->compared++;
	compare_seen(p, of);
	if (p->lost)
		return;
	model_sums(p, &s);
	compare_streams(p, of);
	if (o->has_kernel)
		compare_kernel(p, of, false);
	for (int class = 0; class < GMT_CLASS_COUNT; class++)
		compare_class(p, of, &s, class);
	for (int a = 0; a < GMT_ANOMALY_COUNT; a++)
		if (of->anomalies[a] && !(p->was_late && (a == GMT_ANOMALY_FREE_UNKNOWN || a == GMT_ANOMALY_GPU_UNKNOWN)))
			order_failed("an anomaly, and nothing was lost");
}

/* Whether two live allocations or mappings share an address. What graphs plan may lie anywhere: after a loss, memory may
 * be taken for a graph's (pool.c). */
static bool has_overlaps(const struct process *of)
{
	bool taken[PLACES + 8] = { false };
	uint64_t address;
	size_t pos = 0;
	void *value;
	bool found = false;

	for (int kind = 0; kind < 2; kind++) {
		const struct hash *table = kind ? &of->vmm.mappings : &of->allocs.by_address;

		for (pos = 0; hash_next(table, &pos, &address, &value);) {
			const struct alloc *a = value;
			uint64_t size = kind ? ((struct vmm_mapping *)value)->size : a->size;

			if (!kind && a->class == GMT_CLASS_GRAPH)
				continue;
			for (uint64_t i = 0; i < size / UNIT && address < ARENA * 2; i++) {
				bool *place = &taken[((address - ARENA) / UNIT + i) % (PLACES + 8)];

				found |= *place;
				*place = true;
			}
		}
	}
	return found;
}

/* ---- an order ---- */

static void quiesce(struct order *o)
{
	for (int i = 0; i < PROCESSES; i++) {
		struct process_here *p = &o->world.processes[i];

		for (unsigned int next = order_pick(THREADS); p->alive && !is_idle(p); next += 1 + order_pick(2))
			advance_call(o, p, (int)(next % THREADS), true);
		if (p->alive)
			compare(o, p);
		if (p->alive && !order_pick(4))
			kernel_checkpoint(o, p);
	}
}

static void step_process(struct order *o, struct process_here *p)
{
	unsigned int what = order_pick(400);

	if (!p->alive)
		begin_life(o, p, p->pid, true);
	else if (what == 0)
		end_life(o, p);
	else if (what == 1)
		exec(o, p);
	else
		advance_call(o, p, (int)order_pick(THREADS), false);
}

static void end_order(struct order *o)
{
	struct ledger *l = o->pipeline->ledger;
	struct gmt_loss loss = { .count = { o->lost } };
	struct gmt_end end = { 0 };

	for (size_t i = 0; i < l->processes.count; i++)
		o->overlaps_at_end |= has_overlaps(l->processes.list[i]);
	if (o->overlaps_at_end && !o->lost)
		order_failed("memory overlaps, and nothing was lost");
	apply(o, NULL, &loss, GMT_KIND_LOSS, sizeof(loss), 0);
	apply(o, NULL, &end, GMT_KIND_END, sizeof(end), 0);
	for (size_t i = 0; i < l->processes.count; i++)
		if (has_overlaps(l->processes.list[i]))
			order_failed("memory overlaps at the end");
	for (int i = 0; i < PROCESSES; i++)
		if (o->world.processes[i].alive)
			compare(o, &o->world.processes[i]);
}

static void order_run(struct order *o)
{
	o->pipeline = pipeline_new(&(struct pipeline_options){ .history_events = order_pick(2) ? 64 : 0 });
	o->ts_ns = 1000000;
	o->has_kernel = order_pick(2);
	tell_gpus(o);
	for (int i = 0; i < PROCESSES; i++)
		begin_life(o, &o->world.processes[i], 100 + 10 * (uint32_t)i, i != PROCESSES - 1);
	while (order_goes_on()) {
		step_process(o, &o->world.processes[order_pick(4) ? 0 : order_pick(PROCESSES)]);
		if (!order_pick(16))
			quiesce(o);
	}
	quiesce(o);
	end_order(o);
	pipeline_free(o->pipeline);
}

#endif
