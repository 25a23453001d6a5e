// SPDX-License-Identifier: BSD-2-Clause
#include "core/lives/lives.h"

#include <stdlib.h>

#include "base/rangemap.h"
#include "base/xalloc.h"
#include "core/framework/framework_state.h"
#include "core/framework/frameworks.h"
#include "core/framework/iteration_end.h"
#include "core/lives/lives_state.h"
#include "core/terms/names.h"

struct lives *lives_new(const struct ledger *ledger, const struct frameworks *frameworks)
{
	struct lives *l = xcalloc(1, sizeof(*l));

	l->ledger = ledger;
	l->frameworks = frameworks;
	l->most_alive = UINT32_MAX;
	l->to = life_takers_init(&l->takers);
	live_table_init(&l->allocations);
	live_table_init(&l->blocks);
	return l;
}

void lives_tell(struct lives *l, const struct life_taker *taker)
{
	life_takers_add(&l->takers, taker);
}

void lives_free(struct lives *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->process_count; i++)
		live_process_free(l->processes[i]);
	live_table_fini(&l->allocations);
	live_table_fini(&l->blocks);
	free(l->processes);
	free(l);
}

static struct live_process *live_process_of(struct lives *l, const struct process *p)
{
	l->processes = xreach(l->processes, &l->process_count, p->index, sizeof(struct live_process *));
	if (!l->processes[p->index])
		l->processes[p->index] = xcalloc(1, sizeof(struct live_process));
	return l->processes[p->index];
}

static void next_change(struct lives *l, const struct delta *d)
{
	l->now = (struct life_point){ l->now.change + 1, d->ts_ns, ++live_process_of(l, d->p)->changes };
}

/* Nothing has changed since, but time has gone on. */
static struct life_point newest_change(const struct lives *l, uint64_t ts_ns)
{
	return (struct life_point){ .change = l->now.change, .ts_ns = ts_ns };
}

uint64_t lives_change(const struct lives *l)
{
	return l->now.change;
}

static uint32_t process_number(const struct process *p)
{
	return p->index + 1;
}

/* The row of the process has changed at this time, or its peak counts anew from then. */
static void note_peak(struct lives *l, const struct process *p, unsigned int row, uint64_t ts_ns)
{
	struct live_process *lp = live_process_of(l, p);
	struct life_point at = { .change = l->now.change, .ts_ns = ts_ns, .own = lp->changes };

	if (live_process_peak(lp, p, row, &at))
		l->to->peak(l->to->arg, &(struct life_moment){
			.why = LIFE_AT_PEAK, .at = at, .process = process_number(p),
			.gpu = (int16_t)lives_gpu_of_row(p, row), .ordinal = LIFE_NO_ORDINAL,
			.bytes = lp->rows[row].peak_bytes,
		}, false);
}

/* ---- allocations ---- */

static struct live_key memory_key(const struct delta *d, int gpu, uint64_t bytes)
{
	const struct delta_memory *m = &d->memory;

	return (struct live_key){
		.process = process_number(d->p), .stack_id = m->booking.stack_id, .class = (uint8_t)m->booking.class,
		.gpu = (int16_t)gpu, .born_ns = m->born_ns ? m->born_ns : d->ts_ns, .bytes = bytes,
		.address = m->address,
	};
}

static struct life new_life(const struct lives *l, const struct delta *d, unsigned int row, uint64_t bytes,
			    bool continues)
{
	const struct booking *b = &d->memory.booking;

	return (struct life){
		.birth = l->now, .call = continues ? 0 : l->calls + 1, .continues = continues,
		.is_counted = gmt_class_is_device(b->class), .gpu = (int16_t)lives_gpu_of_row(d->p, row),
		.class = (uint8_t)b->class, .ordinal = d->memory.ordinal, .process = process_number(d->p),
		.stack_id = b->stack_id, .tid = d->p->last_tid, .address = d->memory.address, .bytes = bytes,
	};
}

static void begin_life(struct lives *l, const struct delta *d, const struct life *life)
{
	struct live_key key = memory_key(d, life->gpu, life->bytes);

	lives_add(l, &l->allocations, &key, &live_process_of(l, d->p)->allocations, life);
}

/* Hands a life over, and forgets it. */
static void end_allocation(struct lives *l, const struct process *p, uint32_t index, enum life_end how)
{
	struct live_process *lp = live_process_of(l, p);
	struct life life = lives_allocation(l, p, index);

	life.end = how;
	life.death = how == LIFE_NONE ? (struct life_point){ 0 } : l->now;
	live_table_remove(&l->allocations, index, &lp->allocations);
	l->to->allocation(l->to->arg, &life);
}

/* The life that a delta is about goes on no longer. Returns what is known of it. */
static struct life end_changed(struct lives *l, const struct delta *d, enum life_end how)
{
	const struct booking *b = &d->memory.booking;
	struct live_key key = memory_key(d, lives_gpu_of_row(d->p, b->row), b->bytes);
	uint32_t index = live_table_find(&l->allocations, &key);
	struct life life = { 0 };

	if (!index)
		return life;
	life = live_at(&l->allocations, index)->life;
	end_allocation(l, d->p, index, how);
	return life;
}

static void tell_alloc(struct lives *l, const struct delta *d)
{
	struct life life;

	next_change(l, d);
	life = new_life(l, d, d->memory.booking.row, d->memory.booking.bytes, d->kind == DELTA_RESTORE);
	begin_life(l, d, &life);
	note_peak(l, d->p, d->memory.booking.row, d->ts_ns);
}

static void tell_free(struct lives *l, const struct delta *d)
{
	next_change(l, d);
	end_changed(l, d, LIFE_FREED);
	note_peak(l, d->p, d->memory.booking.row, d->ts_ns);
}

/* A life that goes on has the thread and the call of the one before. */
static void tell_change(struct lives *l, const struct delta *d)
{
	bool is_move = d->kind == DELTA_MOVE;
	unsigned int row = is_move ? d->memory.to : d->memory.booking.row;
	struct life before, after;

	next_change(l, d);
	before = end_changed(l, d, LIFE_CHANGED);
	after = new_life(l, d, row, is_move ? d->memory.booking.bytes : d->memory.bytes, true);
	after.tid = before.tid;
	after.call = before.call;
	begin_life(l, d, &after);
	note_peak(l, d->p, d->memory.booking.row, d->ts_ns);
	note_peak(l, d->p, row, d->ts_ns);
}

/* ---- blocks ---- */

static void end_block(struct lives *l, const struct process *p, uint32_t index, enum life_end how, uint8_t category)
{
	struct live_process *lp = live_process_of(l, p);
	struct life life = lives_block(l, p, index, category);

	life.end = how;
	life.death = how == LIFE_NONE ? (struct life_point){ 0 } : l->now;
	live_table_remove(&l->blocks, index, &lp->blocks);
	l->to->block(l->to->arg, &life);
}

/* offset 0: the block is from before tracing began. */
static struct live_key block_key(const struct delta *d)
{
	const struct range *r = d->block.range;

	return (struct live_key){
		.process = process_number(d->p), .stack_id = (uint32_t)r->value, .gpu = LIFE_NO_GPU,
		.born_ns = r->offset, .bytes = r->length, .address = r->base,
	};
}

static void give_moment(struct lives *l, const struct process *p, const struct life_moment *moment)
{
	struct life_moment m = *moment;

	m.process = process_number(p);
	m.at.own = live_process_of(l, p)->changes;
	l->to->moment(l->to->arg, &m);
}

/* An iteration of the block's device has ended before this block. */
static void tell_iteration(struct lives *l, const struct delta *d, unsigned int ordinal)
{
	const struct framework *f = frameworks_of(l->frameworks, d->p);
	struct live_device *device = live_process_device(live_process_of(l, d->p), ordinal);
	uint32_t ended = iteration_end(f, ordinal, &device->iteration);
	unsigned int row;

	if (!ended)
		return;
	row = f->devices[ordinal].row;
	give_moment(l, d->p, &(struct life_moment){
		.why = LIFE_AT_ITERATION, .at = newest_change(l, d->ts_ns), .number = ended,
		.ordinal = (uint8_t)ordinal, .gpu = (int16_t)lives_gpu_of_row(d->p, row),
		.bytes = d->p->account.rows[row].attributed.live,
	});
}

static void begin_block(struct lives *l, const struct delta *d)
{
	const struct range *r = d->block.range;
	struct live_key key = block_key(d);
	struct life life = {
		.birth = l->now, .is_block = true, .continues = d->kind == DELTA_BLOCK_BACK, .gpu = LIFE_NO_GPU,
		.ordinal = r->gpu < 0 ? LIFE_NO_ORDINAL : (uint8_t)r->gpu, .process = process_number(d->p),
		.stack_id = (uint32_t)r->value, .tid = d->tid, .iteration = r->value >> 32,
		.address = r->base, .bytes = r->length,
	};

	lives_add(l, &l->blocks, &key, &live_process_of(l, d->p)->blocks, &life);
}

static void tell_levels(struct lives *l, const struct process *p, const struct life_point *now)
{
	if (l->to->level)
		live_process_levels(live_process_of(l, p), p, frameworks_of(l->frameworks, p), now, l->to);
}

static void note_block_peak(struct lives *l, const struct process *p, unsigned int ordinal)
{
	const struct framework *f = frameworks_of(l->frameworks, p);
	const struct view_level *level = f && ordinal < f->count ? &f->devices[ordinal].allocated : NULL;
	struct live_device *device = live_process_device(live_process_of(l, p), ordinal);

	if (!level || (device->peak_bytes == level->peak && device->peak_ns == level->peak_ts_ns))
		return;
	device->peak_bytes = level->peak;
	device->peak_ns = level->peak_ts_ns;
	l->to->peak(l->to->arg, &(struct life_moment){
		.why = LIFE_AT_PEAK, .at = l->now, .process = process_number(p), .ordinal = (uint8_t)ordinal,
		.gpu = (int16_t)lives_gpu_of_row(p, f->devices[ordinal].row), .bytes = level->peak,
	}, true);
}

static void tell_block(struct lives *l, const struct delta *d)
{
	const struct range *r = d->block.range;
	struct live_key key = block_key(d);
	uint32_t index;

	if (r->gpu >= 0)
		tell_iteration(l, d, (unsigned int)r->gpu);
	next_change(l, d);
	if (d->kind == DELTA_BLOCK_ALLOC || d->kind == DELTA_BLOCK_BACK) {
		begin_block(l, d);
	} else {
		index = r->offset ? live_table_find(&l->blocks, &key) : 0;
		if (index)
			end_block(l, d->p, index, d->kind == DELTA_BLOCK_LOST ? LIFE_LOST : LIFE_FREED,
				  (uint8_t)d->block.category);
	}
	if (r->gpu >= 0)
		note_block_peak(l, d->p, (unsigned int)r->gpu);
	tell_levels(l, d->p, &l->now);
}

/* ---- calls and moments ---- */

static void tell_call(struct lives *l, const struct delta *d)
{
	const struct gmt_call *rec = d->call.rec;
	struct life_point now = newest_change(l, d->ts_ns);

	l->calls++;
	if (l->to->call)
		l->to->call(l->to->arg, &(struct life_call){
			.number = l->calls, .change = l->now.change, .ts_ns = d->ts_ns,
			.process = process_number(d->p), .tid = d->tid, .stack_id = rec->stack_id, .api = rec->api,
			.begins = rec->phase == GMT_PHASE_ENTER, .result = rec->rc,
		});
	tell_levels(l, d->p, &now);
}

static void tell_nvml(struct lives *l, const struct delta *d)
{
	const struct row *row = &d->p->account.rows[d->row];

	if (!l->to->level)
		return;
	l->to->level(l->to->arg, &(struct life_level){
		.of = LIFE_LEVEL_NVML, .at = newest_change(l, d->ts_ns), .process = process_number(d->p),
		.gpu = (int16_t)row->gpu, .bytes = row->nvml.used,
	});
}

/* A moment of each GPU of the process. */
static void give_moments(struct lives *l, const struct process *p, const struct life_moment *moment)
{
	for (unsigned int i = 0; i < p->account.count; i++) {
		const struct row *row = &p->account.rows[i];
		struct life_moment m = *moment;

		if (!row->attributed.peak)
			continue;
		m.gpu = (int16_t)row->gpu;
		m.bytes = row->attributed.live;
		give_moment(l, p, &m);
	}
}

static void tell_moment(struct lives *l, const struct delta *d)
{
	struct life_moment moment = {
		.why = d->kind == DELTA_WINDOW ? LIFE_AT_WINDOW : LIFE_AT_MARK,
		.at = newest_change(l, d->ts_ns ? d->ts_ns : l->now.ts_ns),
	};

	if (d->kind == DELTA_WINDOW)
		for (unsigned int i = 0; i < d->p->account.count; i++)
			note_peak(l, d->p, i, moment.at.ts_ns);
	give_moments(l, d->p, &moment);
}

static void tell_request(struct lives *l, const struct delta *d)
{
	const struct gmt_oom *rec = d->request.rec;

	l->to->request(l->to->arg, process_number(d->p), gpus_find(&l->ledger->gpus, rec->uuid), l->now.change, rec);
	if (d->kind == DELTA_REQUEST_FAILED)
		give_moments(l, d->p, &(struct life_moment){
			.why = LIFE_AT_REQUEST, .at = newest_change(l, d->ts_ns), .number = rec->number,
		});
}

/* ---- processes ---- */

static void end_lives(struct lives *l, const struct process *p, enum life_end how)
{
	struct live_process *lp = live_process_of(l, p);

	while (lp->blocks)
		end_block(l, p, lp->blocks, how, lives_category_now(l, p, &live_at(&l->blocks, lp->blocks)->life));
	while (lp->allocations)
		end_allocation(l, p, lp->allocations, how);
}

static void give_end(struct lives *l, const struct process *p, uint64_t ts_ns)
{
	give_moments(l, p, &(struct life_moment){ .why = LIFE_AT_END, .at = newest_change(l, ts_ns) });
}

/* The process still holds all its memory. */
static void tell_end(struct lives *l, const struct delta *d)
{
	bool is_exit = d->kind == DELTA_EXIT;

	if (is_exit)
		give_end(l, d->p, d->ts_ns);
	next_change(l, d);
	end_lives(l, d->p, is_exit ? LIFE_EXIT : LIFE_EXEC);
	live_process_restart(live_process_of(l, d->p));
	if (is_exit)
		l->to->exit(l->to->arg, process_number(d->p));
}

static void give_process(struct lives *l, const struct process *p)
{
	live_process_give_peaks(live_process_of(l, p), p, process_number(p), l->to);
	l->to->process(l->to->arg, &(struct life_process){
		.number = process_number(p), .tgid = p->tgid, .ns_pid = p->ns_pid, .uid = p->uid,
		.start_ns = p->start_ns, .attach_ns = p->attach_ts_ns,
		.exit_ns = p->exited ? p->exit_ts_ns : 0, .exit_code = p->exit_code,
		.from_start = p->from_start, .comm = p->comm, .cmdline = p->cmdline, .cgroup = p->cgroup,
	});
}

static void tell_forget(struct lives *l, const struct delta *d)
{
	if (!d->forget.sum)
		return;
	give_process(l, d->p);
	l->to->forget(l->to->arg, process_number(d->p));
	live_process_free(l->processes[d->p->index]);
	l->processes[d->p->index] = NULL;
}

void lives_finish(struct lives *l)
{
	const struct processes *all = &l->ledger->processes;

	for (size_t i = 0; i < all->count; i++) {
		const struct process *p = all->list[i];

		if (!p)
			continue;
		if (!p->exited)
			give_end(l, p, l->ledger->now_ns);
		end_lives(l, p, LIFE_NONE);
		give_process(l, p);
	}
}

static void tell_shed(struct lives *l, const struct delta *d)
{
	if (d->shed == GMT_SHED_EVENTS)
		lives_shed(l, d->ts_ns);
}

static void (*const tellers[DELTA_COUNT])(struct lives *l, const struct delta *d) = {
	[DELTA_ALLOC] = tell_alloc,
	[DELTA_FREE] = tell_free,
	[DELTA_RESTORE] = tell_alloc,
	[DELTA_MOVE] = tell_change,
	[DELTA_RESIZE] = tell_change,
	[DELTA_CALL] = tell_call,
	[DELTA_MARK] = tell_moment,
	[DELTA_WINDOW] = tell_moment,
	[DELTA_EXEC] = tell_end,
	[DELTA_EXIT] = tell_end,
	[DELTA_FORGET] = tell_forget,
	[DELTA_NVML] = tell_nvml,
	[DELTA_SHED] = tell_shed,
	[DELTA_BLOCK_ALLOC] = tell_block,
	[DELTA_BLOCK_FREE] = tell_block,
	[DELTA_BLOCK_LOST] = tell_block,
	[DELTA_BLOCK_BACK] = tell_block,
	[DELTA_REQUEST_FAILED] = tell_request,
	[DELTA_REQUEST_DECIDED] = tell_request,
};

void lives_see(void *lives, const struct delta *d)
{
	tellers[d->kind](lives, d);
}
