/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/oom/oom_dump.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "core/history/history_dump.h"
#include "core/ledger/ledger_state.h"
#include "core/oom/oom_gpus.h"
#include "core/oom/oom_state.h"

struct dump {
	const struct ledger *ledger;
	oom_put_fn put;
	void *arg;
	bool *has_symbol;        /* by the symbol's number in frames.h */
	struct hash processes;   /* processes that are in the dump, by tgid */
	struct hash named;       /* stack ids whose names are in the dump */
};

/* ---- machine and processes ---- */

static void put_session(const struct dump *d)
{
	struct gmt_session rec = d->ledger->session;
	struct gmt_loss loss = { .hdr = { .size = sizeof(loss), .kind = GMT_KIND_LOSS } };

	if (!rec.hdr.size)
		return;
	rec.hdr.size = sizeof(rec);
	d->put(d->arg, &rec, sizeof(rec));
	loss.hdr.ts_ns = rec.hdr.ts_ns;
	memcpy(loss.count, d->ledger->loss, sizeof(loss.count));
	d->put(d->arg, &loss, sizeof(loss));
}

/* NVML's numbers tell whether others held the GPU, and who. */
static void put_nvml_memory(const struct dump *d, const struct oom_gpu *gpu)
{
	if (!gpu)
		return;
	d->put(d->arg, &gpu->memory, sizeof(gpu->memory));
	for (size_t i = 0; i < gpu->neighbours.count; i++)
		d->put(d->arg, &gpu->neighbours.list[i], sizeof(gpu->neighbours.list[i]));
	if (gpu->neighbours.others.used_bytes)
		d->put(d->arg, &gpu->neighbours.others, sizeof(gpu->neighbours.others));
}

static void put_gpus(const struct dump *d, const struct oom *oom)
{
	for (int i = 0; i < d->ledger->gpus.count; i++) {
		struct gmt_gpu rec = d->ledger->gpus.list[i].record;

		rec.hdr.size = sizeof(rec);
		if (d->ledger->gpus.list[i].listed)
			d->put(d->arg, &rec, sizeof(rec));
		put_nvml_memory(d, oom_gpu_of(oom, d->ledger->gpus.list[i].uuid));
	}
}

/* The texts fit, because they came from such a record. A NUL ends each text. */
static void put_process(const struct dump *d, const struct process *p)
{
	struct gmt_proc facts = {
		.hdr = { .size = sizeof(facts), .kind = GMT_KIND_PROC, .tgid = p->tgid, .ts_ns = p->attach_ts_ns },
		.start_ns = p->start_ns, .uid = p->uid, .ns_pid = p->ns_pid,
	};
	struct gmt_attach attach = {
		.hdr = { .size = sizeof(attach), .kind = GMT_KIND_ATTACH, .tgid = p->tgid, .ts_ns = p->attach_ts_ns },
		.flags = p->from_start ? GMT_ATTACH_FROM_START : 0,
	};

	memcpy(facts.comm, p->comm, sizeof(facts.comm));
	memcpy(facts.cgroup, p->cgroup, sizeof(facts.cgroup));
	memcpy(facts.cmdline, p->cmdline, sizeof(facts.cmdline));
	d->put(d->arg, &facts, sizeof(facts));
	d->put(d->arg, &attach, sizeof(attach));
}

/* Puts the newest process with the pid, but only once: most pids are in several rows. */
static void put_tgid(struct dump *d, uint32_t tgid)
{
	const struct process *p = process_newest(&d->ledger->processes, tgid);
	bool is_new;

	hash_put(&d->processes, tgid, &is_new);
	if (is_new && p)
		put_process(d, p);
}

/* ---- names ---- */

#define SYMBOL_ID(number) ((number) + 1)   /* 0 is none */

static void put_symbol(const struct dump *d, uint32_t number, uint64_t ts_ns)
{
	const struct frames_symbol *s = &d->ledger->frames.symbols[number];
	size_t lengths[] = { strlen(s->function), strlen(s->module), strlen(s->file) };
	size_t text = lengths[0] + lengths[1] + lengths[2] + 3;
	size_t size = (sizeof(struct gmt_symbol) + text + 7) / 8 * 8;
	struct gmt_symbol *rec = xcalloc(1, size);
	uint8_t *at = rec->text;

	d->has_symbol[number] = true;
	*rec = (struct gmt_symbol){
		.hdr = { .size = size, .kind = GMT_KIND_SYMBOL, .ts_ns = ts_ns },
		.id = SYMBOL_ID(number), .line = s->line, .offset = s->offset, .kind = s->kind, .flags = s->flags,
		.function_len = lengths[0], .module_len = lengths[1], .file_len = lengths[2],
	};
	memcpy(at, s->function, lengths[0]);
	memcpy(at + lengths[0] + 1, s->module, lengths[1]);
	memcpy(at + lengths[0] + lengths[1] + 2, s->file, lengths[2]);
	d->put(d->arg, rec, size);
	free(rec);
}

/* Each stack id has a record, also where several ids are one stack. */
static void put_names(struct dump *d, uint32_t stack_id, const struct gmt_hdr *of)
{
	uint32_t number = frames_of(&d->ledger->frames, stack_id), count;
	struct gmt_stack_frames *rec;
	const uint32_t *list;
	size_t size;
	bool is_new;

	if (number < FRAMES_FIRST)
		return;
	hash_put(&d->named, stack_id, &is_new);
	if (!is_new)
		return;
	list = frames_list(&d->ledger->frames, number, &count);
	size = (sizeof(*rec) + count * sizeof(*list) + 7) / 8 * 8;
	rec = xcalloc(1, size);
	*rec = (struct gmt_stack_frames){
		.hdr = { .size = size, .kind = GMT_KIND_STACK_FRAMES, .tgid = of->tgid, .ts_ns = of->ts_ns },
		.stack_id = stack_id, .count = count,
	};
	for (uint32_t i = 0; i < count; i++) {
		if (!d->has_symbol[list[i]])
			put_symbol(d, list[i], of->ts_ns);
		rec->symbols[i] = SYMBOL_ID(list[i]);
	}
	d->put(d->arg, rec, size);
	free(rec);
}

/* ---- the dump ---- */

void oom_dump(const struct ledger *l, const struct oom *oom, const struct history_subjects *also, oom_put_fn put,
	      void *arg)
{
	struct dump d = {
		.ledger = l, .put = put, .arg = arg,
		.has_symbol = xcalloc(l->frames.symbol_count, sizeof(bool)),
	};
	const struct gmt_oom_stack *stack = oom->stacks;
	uint32_t tgid = also && also->tgid_count ? also->tgids[0] : 0;   /* the pid in the records of names */
	struct gmt_hdr of_window = { .tgid = tgid, .ts_ns = oom->rec.hdr.ts_ns };

	hash_init(&d.processes, 1);
	hash_init(&d.named, 1);
	put_session(&d);
	put_gpus(&d, oom);
	if (oom->rec.hdr.tgid)
		put_tgid(&d, oom->rec.hdr.tgid);
	for (size_t i = 0; i < oom->row_count; i++)
		put_tgid(&d, oom->rows[i].hdr.tgid);
	for (size_t i = 0; also && i < also->tgid_count; i++)
		put_tgid(&d, also->tgids[i]);
	if (oom->rec.stack_id)
		put_names(&d, oom->rec.stack_id, &oom->rec.hdr);
	if (oom->rec.backward_stack_id)
		put_names(&d, oom->rec.backward_stack_id, &oom->rec.hdr);
	for (size_t i = 0; i < oom->stack_count; i++)
		put_names(&d, oom->stacks[i].stack_id, &oom->stacks[i].hdr);
	for (size_t i = 0; i < oom->waiting_count; i++)
		put_names(&d, oom->waiting[i].waiting_id, &oom->waiting[i].hdr);
	for (size_t i = 0; tgid && i < also->stack_count; i++)
		put_names(&d, also->stacks[i], &of_window);
	put(arg, &oom->rec, sizeof(oom->rec));
	for (size_t i = 0; i < oom->row_count; i++) {
		put(arg, &oom->rows[i], sizeof(oom->rows[i]));
		for (uint32_t k = 0; k < oom->rows[i].stacks; k++, stack++)
			put(arg, stack, sizeof(*stack));
	}
	for (size_t i = 0; i < oom->waiting_count; i++)
		put(arg, &oom->waiting[i], sizeof(oom->waiting[i]));
	free(d.has_symbol);
	hash_fini(&d.processes);
	hash_fini(&d.named);
}

void oom_dump_end(const struct oom *oom, oom_put_fn put, void *arg)
{
	struct gmt_end end = { .hdr = { .size = sizeof(end), .kind = GMT_KIND_END, .ts_ns = oom->rec.hdr.ts_ns } };

	put(arg, &end, sizeof(end));
}

static bool is_unnamed(const struct ledger *l, uint32_t stack_id)
{
	return stack_id && frames_of(&l->frames, stack_id) == FRAMES_NOT_NAMED;
}

size_t oom_unnamed(const struct ledger *l, const struct oom *oom, const struct history_subjects *also)
{
	size_t count = is_unnamed(l, oom->rec.stack_id) + is_unnamed(l, oom->rec.backward_stack_id);

	for (size_t i = 0; i < oom->stack_count; i++)
		count += is_unnamed(l, oom->stacks[i].stack_id);
	for (size_t i = 0; i < oom->waiting_count; i++)
		count += is_unnamed(l, oom->waiting[i].waiting_id);
	for (size_t i = 0; also && i < also->stack_count; i++)
		count += is_unnamed(l, also->stacks[i]);
	return count;
}
