/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/ledger/process.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "core/ledger/checkpoint.h"
#include "core/ledger/delta.h"
#include "core/terms/names.h"

/* ---- what it has ---- */

/* X(table, type of its values) */
#define TABLES(X)                                                                 \
	X(allocs.by_address, struct alloc)                                        \
	X(allocs.arrays, struct alloc)                                            \
	X(allocs.externals, struct alloc)                                         \
	X(allocs.opens, uint32_t)                                                 \
	X(vmm.handles, uint64_t)                                                  \
	X(vmm.objects, struct vmm_object)                                         \
	X(vmm.mappings, struct vmm_mapping)                                       \
	X(vmm.bindings, struct binding)                                           \
	X(vmm.tiles, uint64_t)                                                    \
	X(contexts.by_handle, uint16_t)                                           \
	X(contexts.streams, struct stream)                                        \
	X(pools, struct pool)                                                     \
	X(graphs.by_handle, struct graph_name)                                    \
	X(graphs.by_number, struct graph)                                         \
	X(graphs.nodes, struct graph_node)                                        \
	X(graphs.captures, struct capture)                                        \
	X(threads, struct thread *)

static void init_state(struct process *p)
{
	p->contexts = (struct contexts){ .list = xcalloc(1, sizeof(*p->contexts.list)), .count = 1 };
	p->contexts.list[0].ordinal = ORDINAL_NONE;
#define X(table, type) hash_init(&p->table, sizeof(type));
	TABLES(X)
#undef X
	p->vmm.last = p->graphs.last = 0;
	p->named = p->mig = GPU_UNKNOWN;
	p->named_several = false;
}

static void free_thread(struct thread *t)
{
	for (unsigned int i = 0; i < THREAD_UNDOS; i++) {
		free(t->undos[i].unmapped);
		free(t->undos[i].ended);
		free(t->undos[i].unbound);
	}
	free(t->stack);
	free(t);
}

static void fini_state(struct process *p)
{
	size_t pos = 0;
	void *value;

	while (hash_next(&p->threads, &pos, NULL, &value))
		free_thread(*(struct thread **)value);
	p->last_thread = NULL;
#define X(table, type) hash_fini(&p->table);
	TABLES(X)
#undef X
	free(p->contexts.list);
	free(p->contexts.devices);
	rm_free(p->rm);
	p->rm = NULL;
	checkpoint_free(p->checkpoint);
	p->checkpoint = NULL;
}

/* ---- growth ---- */

#define MARK_UNIT_NS 1000000000ULL
#define START_UP_MARKS 2 /* at 1 and 2 seconds */
#define MARK_MAX 34      /* after centuries; 2^64 ns come soon after */

void process_begin_marks(struct process *p, uint64_t ts_ns)
{
	p->attach_ts_ns = ts_ns;
	p->growth = p->recent = 0;
	p->next_mark_ns = ts_ns + MARK_UNIT_NS;
	p->window_ns = 0;
}

/* A kind of marks has places, which its marks use in turn. The last place is the window's. */
struct places {
	unsigned int first, count;
};
#define GROWTH_PLACES ((struct places){ 0, STACKS_GROWTH_MARKS })
#define RECENT_PLACES ((struct places){ STACKS_GROWTH_MARKS, 2 })
#define WINDOW_PLACE 5
_Static_assert(WINDOW_PLACE + 1 == STACKS_PROCESS_MARKS, "a place for each mark");

static unsigned int mark_place(struct places places, uint32_t mark)
{
	return places.first + mark % places.count;
}

static uint64_t traced_ns(const struct process *p, uint64_t ts_ns)
{
	return ts_ns > p->attach_ts_ns ? ts_ns - p->attach_ts_ns : 0;
}

/* The newest mark of each kind at the time `ts_ns`; 0: none. */
static uint32_t growth_at(const struct process *p, uint64_t ts_ns)
{
	uint64_t units = traced_ns(p, ts_ns) / MARK_UNIT_NS;
	uint32_t mark = units ? 64 - __builtin_clzll(units) : 0;

	return mark < MARK_MAX ? mark : MARK_MAX;
}

static uint32_t recent_at(const struct process *p, uint64_t ts_ns)
{
	return traced_ns(p, ts_ns) / PROCESS_RECENT_NS;
}

/* When a mark is set, in ns from the attach on. */
static uint64_t growth_ns(uint32_t mark)
{
	return mark ? MARK_UNIT_NS << (mark - 1) : 0;
}

static void set_mark(struct process *p, unsigned int place)
{
	account_mark(&p->account, place);
	deltas_give(p->out, &(struct delta){ .kind = DELTA_MARK, .p = p, .mark = place });
}

/* Sets the marks behind `*newest`. Of many that have passed without a record in between, only the last ones count. */
static void set_marks(struct process *p, struct places places, uint32_t *newest, uint32_t mark)
{
	for (unsigned int before = places.count; before-- > 0;)
		if (mark > *newest + before)
			set_mark(p, mark_place(places, mark - before));
	*newest = mark;
}

void process_mark(struct process *p, uint64_t ts_ns)
{
	uint64_t next_growth = UINT64_MAX, next_recent;

	set_marks(p, GROWTH_PLACES, &p->growth, growth_at(p, ts_ns));
	set_marks(p, RECENT_PLACES, &p->recent, recent_at(p, ts_ns));
	if (p->growth < MARK_MAX)
		next_growth = p->attach_ts_ns + growth_ns(p->growth + 1);
	next_recent = p->attach_ts_ns + (p->recent + 1ULL) * PROCESS_RECENT_NS;
	p->next_mark_ns = next_growth < next_recent ? next_growth : next_recent;
}

/* The `since` that stacks_row() takes for the time since `mark`. Nothing is known since a mark whose place another mark
 * has taken. */
static unsigned int since_mark(struct places places, uint32_t newest, uint32_t mark)
{
	if (!mark)
		return STACKS_AT_START;
	if (mark > newest || newest - mark >= places.count)
		return STACKS_NOW;
	return STACKS_AT_MARK + mark_place(places, mark);
}

static unsigned int since_growth(const struct process *p, uint32_t mark, uint64_t *since_ns)
{
	*since_ns = p->attach_ts_ns + growth_ns(mark);
	return since_mark(GROWTH_PLACES, p->growth, mark);
}

/* The mark that divides the time in which growth counts. Right after the newest mark, little can have come; but the
 * marks before the third are those of a start-up. */
static uint32_t later_at(const struct process *p, uint64_t now_ns)
{
	uint32_t mark = growth_at(p, now_ns);

	if (mark <= START_UP_MARKS + 1 || traced_ns(p, now_ns) >= growth_ns(mark) + growth_ns(mark - 1) / 2)
		return mark;
	return mark - 1;
}

unsigned int process_since(const struct process *p, uint64_t now_ns, uint64_t *since_ns)
{
	uint32_t mark = later_at(p, now_ns);

	return since_growth(p, mark ? mark - 1 : 0, since_ns);
}

unsigned int process_newest_mark(const struct process *p, uint64_t *ns)
{
	return since_growth(p, p->growth, ns);
}

unsigned int process_since_later(const struct process *p, uint64_t now_ns, uint64_t *since_ns)
{
	return since_growth(p, later_at(p, now_ns), since_ns);
}

unsigned int process_since_recent(const struct process *p, uint64_t now_ns, uint64_t *since_ns)
{
	uint32_t mark = recent_at(p, now_ns);

	mark -= mark > 0;
	*since_ns = p->attach_ts_ns + mark * PROCESS_RECENT_NS;
	return since_mark(RECENT_PLACES, p->recent, mark);
}

void process_window(struct process *p, uint64_t ts_ns)
{
	account_restart(&p->account, ts_ns);
	deltas_give(p->out, &(struct delta){ .kind = DELTA_WINDOW, .p = p, .ts_ns = ts_ns });
	set_mark(p, WINDOW_PLACE);
	p->window_ns = ts_ns;
}

unsigned int process_since_window(const struct process *p, uint64_t now_ns, uint64_t *since_ns)
{
	if (!p->window_ns)
		return process_since(p, now_ns, since_ns);
	*since_ns = p->window_ns;
	return STACKS_AT_MARK + WINDOW_PLACE;
}

/* ---- one process ---- */

struct process *process_new(struct processes *all, const struct gmt_hdr *hdr)
{
	struct process *p = xcalloc(1, sizeof(*p));
	bool is_new;

	p->tgid = p->ns_pid = hdr->tgid;
	p->index = all->count;
	p->all = all;
	p->gpus = all->gpus;
	p->session = all->session;
	p->out = all->out;
	process_begin_marks(p, hdr->ts_ns);
	account_init(&p->account);
	if (all->is_closed)
		account_close(&p->account);
	init_state(p);
	all->list = xgrow(all->list, all->count, sizeof(*all->list));
	*(uint32_t *)hash_put(&all->by_tgid, hdr->tgid, &is_new) = all->count;
	all->list[all->count++] = p;
	all->last = p;
	return p;
}

void process_forget(struct process *p)
{
	fini_state(p);
	init_state(p);
}

static void free_process(struct process *p)
{
	fini_state(p);
	account_fini(&p->account);
	free(p->held);
	free(p);
}

/* ---- all of them ---- */

void processes_init(struct processes *all, struct gpus *gpus, const struct gmt_session *session,
		    const struct deltas *out)
{
	*all = (struct processes){ .gpus = gpus, .session = session, .out = out };
	hash_init(&all->by_tgid, sizeof(uint32_t));
}

void processes_fini(struct processes *all)
{
	for (size_t i = 0; i < all->count; i++)
		if (all->list[i])
			free_process(all->list[i]);
	free(all->ended);
	free(all->list);
	hash_fini(&all->by_tgid);
}

void processes_close(struct processes *all)
{
	all->is_closed = true;
	for (size_t i = 0; i < all->count; i++)
		if (all->list[i])
			account_close(&all->list[i]->account);
}

/* ---- those that have ended ---- */

#define FOLD_TRIES 8     /* so many of the oldest are asked for, when one has ended */

void process_keep_ended(struct process *p)
{
	struct processes *all = p->all;

	all->ended = xgrow(all->ended, all->ended_count, sizeof(*all->ended));
	all->ended[all->ended_count++] = p->index;
	p->end_number = ++all->ends;
	all->has_ended = true;
}

static void add_class(struct view_class *sum, const struct view_class *class)
{
	sum->bytes.live += class->bytes.live;
	level_set(&sum->bytes, sum->bytes.live, 0);
	sum->live_count += class->live_count;
	sum->allocs += class->allocs;
	sum->frees += class->frees;
	sum->alloc_bytes += class->alloc_bytes;
	sum->freed_bytes += class->freed_bytes;
	sum->failed += class->failed;
}

void process_sum(const struct process *p, struct view_ended *sum)
{
	sum->count += p->touched;
	for (int i = 0; i < GMT_CLASS_COUNT; i++)
		add_class(&sum->by_class[i], &p->account.by_class[i]);
	for (int i = 0; i < GMT_ANOMALY_COUNT; i++)
		sum->anomalies[i] += p->anomalies[i];
}

static bool is_needed(const struct process *p)
{
	bool answer = false;

	deltas_give(p->out, &(struct delta){ .kind = DELTA_FORGET, .p = p, .forget.is_needed = &answer });
	return answer;
}

static void drop_process(struct processes *all, struct process *p)
{
	const uint32_t *newest = hash_get(&all->by_tgid, p->tgid);

	process_sum(p, &all->folded);
	all->dropped_stacks += p->unwinding.stacks;
	deltas_give(p->out, &(struct delta){ .kind = DELTA_FORGET, .p = p, .forget.sum = &all->folded });
	if (newest && *newest == p->index)
		hash_erase(&all->by_tgid, p->tgid);
	if (all->last == p)
		all->last = NULL;
	all->list[p->index] = NULL;
	free_process(p);
}

void processes_fold(struct processes *all)
{
	size_t tries = FOLD_TRIES, left = 0, at = 0;

	if (!all->has_ended || all->ended_count <= PROCESSES_ENDED)
		return;
	all->has_ended = false;
	for (; at < all->ended_count && tries-- && all->ended_count - at + left > PROCESSES_ENDED; at++) {
		struct process *p = all->list[all->ended[at]];

		if (is_needed(p))
			all->ended[left++] = p->index;
		else
			drop_process(all, p);
	}
	memmove(all->ended + left, all->ended + at, (all->ended_count - at) * sizeof(*all->ended));
	all->ended_count -= at - left;
}

struct process *process_find(struct processes *all, uint32_t tgid)
{
	if (all->last && all->last->tgid == tgid)
		return all->last;
	const uint32_t *index = hash_get(&all->by_tgid, tgid);

	if (!index)
		return NULL;
	all->last = all->list[*index];
	return all->last;
}

struct thread *process_thread_slow(struct process *p, uint32_t tid)
{
	struct thread **t = hash_put(&p->threads, tid, NULL);

	if (!*t)
		*t = xcalloc(1, sizeof(**t));
	p->last_tid = tid;
	p->last_thread = *t;
	return *t;
}

/* ---- which GPU ---- */

void process_named(struct process *p, int gpu)
{
	if (gpu == GPU_UNKNOWN)
		return;
	if (gpus_is_mig(p->gpus, gpu))
		p->mig = gpu;
	if (p->named != GPU_UNKNOWN && p->named != gpu)
		p->named_several = true;
	p->named = gpu;
}

int process_gpu(struct process *p, uint64_t address, const struct gmt_call *call, unsigned int ordinal)
{
	int gpu = GPU_UNKNOWN;

	if (p->rm && address)
		gpu = rm_gpu_of_address(p->rm, address);
	/* A device's memory, and the memory of its current pools, is local to the device. So the GPU is known for
	 * the next call on the device, even if that call fails or nothing new is mapped for the call. */
	if (gpu != GPU_UNKNOWN)
		context_learn_gpu(&p->contexts, ordinal, gpu);
	if (gpu == GPU_UNKNOWN && p->rm && call)
		gpu = rm_gpu_of_call(p->rm, call->hdr.tid, call->seq);
	if (gpu == GPU_UNKNOWN)
		gpu = context_gpu(&p->contexts, ordinal);
	if (gpu == GPU_UNKNOWN)
		gpu = gpus_only(p->gpus);
	if (gpu == GPU_UNKNOWN && !p->named_several)
		gpu = p->named;
	return gpu;
}

unsigned int process_row(struct process *p, uint64_t address, const struct gmt_call *call, unsigned int ordinal)
{
	return account_row(&p->account, process_gpu(p, address, call, ordinal));
}

unsigned int process_ordinal(const struct process *p, int gpu)
{
	const struct row *row = &p->account.rows[account_find_row(&p->account, gpu)];

	if (!p->exited)
		return context_ordinal_of_gpu(&p->contexts, gpu);
	return row->gpu == gpu ? row->ordinal_at_end : ORDINAL_NONE;
}

unsigned int process_device_row(struct process *p, unsigned int ordinal, uint64_t address)
{
	struct device *device = context_device(&p->contexts, ordinal);
	unsigned int row = device ? device->row : 0;

	if (row)
		return row;
	row = process_row(p, address, NULL, ordinal);
	if (device)     /* that may have moved it */
		context_device(&p->contexts, ordinal)->row = row;
	return row;
}

/* ---- what it holds ---- */

bool process_memory_at(const struct process *p, uint64_t address, struct delta_place *place, bool *is_mapped)
{
	const struct vmm_mapping *m = hash_get(&p->vmm.mappings, address);
	const struct vmm_object *o = m ? hash_get(&p->vmm.objects, m->object) : NULL;
	const struct alloc *a = m ? NULL : hash_get(&p->allocs.by_address, address);

	*is_mapped = m != NULL;
	*place = (struct delta_place){ .address = address, .ordinal = ORDINAL_NONE, .booking.class = CLASS_NONE };
	if (m)
		place->length = m->size;
	if (o) {
		place->booking = (struct booking){ .row = o->row, .class = o->class, .stack_id = o->stack_id };
		place->born_ns = o->ts_ns;
		place->ordinal = o->ordinal;
	} else if (a && gmt_class_is_device(a->class)) {
		place->length = a->size;
		place->booking = (struct booking){ .row = a->row, .class = a->class, .stack_id = a->stack_id };
		place->born_ns = a->ts_ns;
		place->ordinal = a->ordinal;
	}
	return place->length != 0;
}
