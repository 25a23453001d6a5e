// SPDX-License-Identifier: BSD-2-Clause
/* See stacks.h. */
#include "core/stacks.h"

#include "base/alloc.h"

struct stack {
	uint64_t id;
	uint64_t live;
	uint64_t changed;        /* the last change of this stack: struct stacks.changes then */
	uint64_t at_peak;        /* good if it changed after the peak, else it is live */
	uint64_t at_mark;        /* likewise */
	uint64_t count, allocs, frees, alloc_bytes;
	uint32_t oldest, newest; /* items, linked by age */
};

struct item {
	uint32_t older, newer;
	uint64_t size_bytes, ts_ns;
	uint32_t stack;
};

void stacks_init(struct stacks *s)
{
	*s = (struct stacks){ 0 };
	hash_init(&s->by_id, sizeof(uint32_t));
	slab_init(&s->stacks, sizeof(struct stack));
	slab_init(&s->items, sizeof(struct item));
}

void stacks_fini(struct stacks *s)
{
	hash_fini(&s->by_id);
	slab_fini(&s->stacks);
	slab_fini(&s->items);
}

/* Writes down what the stack held at the peak and at the mark, if it has not changed since. */
static void before_change(struct stacks *s, struct stack *stack)
{
	if (stack->changed <= s->peak_change)
		stack->at_peak = stack->live;
	if (stack->changed <= s->mark_change)
		stack->at_mark = stack->live;
	stack->changed = ++s->changes;
}

static void link_item(struct stacks *s, struct stack *stack, uint32_t i)
{
	struct item *item = slab_at(&s->items, i);
	uint32_t older = stack->newest;

	/* records of several CPUs come nearly in order */
	while (older && ((struct item *)slab_at(&s->items, older))->ts_ns > item->ts_ns)
		older = ((struct item *)slab_at(&s->items, older))->older;
	item->older = older;
	if (older) {
		struct item *before = slab_at(&s->items, older);

		item->newer = before->newer;
		before->newer = i;
	} else {
		item->newer = stack->oldest;
		stack->oldest = i;
	}
	if (item->newer)
		((struct item *)slab_at(&s->items, item->newer))->older = i;
	else
		stack->newest = i;
}

static void unlink_item(struct stacks *s, struct stack *stack, const struct item *item)
{
	if (item->older)
		((struct item *)slab_at(&s->items, item->older))->newer = item->newer;
	else
		stack->oldest = item->newer;
	if (item->newer)
		((struct item *)slab_at(&s->items, item->newer))->older = item->older;
	else
		stack->newest = item->older;
}

uint32_t stacks_add(struct stacks *s, uint64_t stack_id, uint64_t size_bytes, uint64_t ts_ns)
{
	uint32_t *index, i = slab_new(&s->items);
	struct item *item = slab_at(&s->items, i);
	struct stack *stack;
	bool is_new;

	index = hash_put(&s->by_id, stack_id, &is_new);
	if (is_new) {
		*index = slab_new(&s->stacks);
		((struct stack *)slab_at(&s->stacks, *index))->id = stack_id;
	}
	*item = (struct item){ .size_bytes = size_bytes, .ts_ns = ts_ns, .stack = *index };
	stack = slab_at(&s->stacks, *index);
	before_change(s, stack);
	link_item(s, stack, i);
	stack->live += size_bytes;
	stack->alloc_bytes += size_bytes;
	stack->allocs++;
	stack->count++;
	s->live += size_bytes;
	s->count++;
	if (s->live > s->peak) {
		s->peak = s->live;
		s->peak_ts_ns = ts_ns;
		s->peak_change = s->changes;
	}
	return i;
}

void stacks_remove(struct stacks *s, uint32_t i)
{
	struct item *item = slab_at(&s->items, i);
	struct stack *stack = slab_at(&s->stacks, item->stack);

	before_change(s, stack);
	unlink_item(s, stack, item);
	stack->live -= item->size_bytes;
	stack->frees++;
	stack->count--;
	s->live -= item->size_bytes;
	s->count--;
	slab_free(&s->items, i);
}

void stacks_mark(struct stacks *s, uint64_t ts_ns)
{
	s->mark_change = s->changes;
	s->mark_ts_ns = ts_ns;
}

static void make_row(const struct stacks *s, const struct stack *stack, uint64_t before_ts_ns,
		     struct stacks_row *row)
{
	uint64_t at_mark = stack->changed <= s->mark_change ? stack->live : stack->at_mark;

	*row = (struct stacks_row){
		.stack_id = stack->id,
		.live = stack->live,
		.at_peak = stack->changed <= s->peak_change ? stack->live : stack->at_peak,
		.grown = (int64_t)(stack->live - at_mark),
		.count = stack->count,
		.allocs = stack->allocs,
		.frees = stack->frees,
		.alloc_bytes = stack->alloc_bytes,
	};
	if (stack->oldest)
		row->oldest_ts_ns = ((struct item *)slab_at(&s->items, stack->oldest))->ts_ns;
	for (uint32_t i = stack->oldest; i;) {
		const struct item *item = slab_at(&s->items, i);

		if (item->ts_ns >= before_ts_ns)
			break;
		row->old_bytes += item->size_bytes;
		row->old_count++;
		i = item->newer;
	}
}

uint64_t stacks_value(const struct stacks_row *row, enum stacks_order order)
{
	switch (order) {
#define X(name, member, text)                                         \
	case STACKS_BY_##name:                                        \
		return (int64_t)row->member > 0 ? (uint64_t)row->member : 0;
		STACKS_ORDERS(X)
#undef X
	case STACKS_ORDER_COUNT:
		break;
	}
	return 0;
}

const char *stacks_order_text(enum stacks_order order)
{
	static const char *const texts[] = {
#define X(name, member, text) text,
		STACKS_ORDERS(X)
#undef X
	};

	return order < STACKS_ORDER_COUNT ? texts[order] : "";
}

/* Whether a comes before b. */
static bool is_before(const struct stacks_row *a, const struct stacks_row *b, enum stacks_order order)
{
	uint64_t x = stacks_value(a, order), y = stacks_value(b, order);

	return x != y ? x > y : a->stack_id < b->stack_id;
}

/* rows[0] is the last of a heap of `count` rows: where the greatest are kept, the least is at hand. */
static void sift_down(struct stacks_row *rows, size_t count, size_t at, enum stacks_order order)
{
	for (;;) {
		size_t last = at, child = 2 * at + 1;
		struct stacks_row moved;

		for (size_t i = child; i < child + 2 && i < count; i++) {
			if (is_before(&rows[last], &rows[i], order))
				last = i;
		}
		if (last == at)
			return;
		moved = rows[at];
		rows[at] = rows[last];
		rows[last] = moved;
		at = last;
	}
}

void stacks_sort(struct stacks_row *rows, size_t count, enum stacks_order order)
{
	for (size_t i = count / 2; i-- > 0;)
		sift_down(rows, count, i, order);
	while (count > 1) { /* the last one goes to the end */
		struct stacks_row moved = rows[--count];

		rows[count] = rows[0];
		rows[0] = moved;
		sift_down(rows, count, 0, order);
	}
}

size_t stacks_count(const struct stacks *s)
{
	return hash_count(&s->by_id);
}

size_t stacks_top(const struct stacks *s, enum stacks_order order, uint64_t before_ts_ns, struct stacks_row *rows,
		  size_t most)
{
	size_t count = 0;

	for (uint32_t i = 1; i < s->stacks.count && most; i++) {
		struct stacks_row row;

		make_row(s, slab_at(&s->stacks, i), before_ts_ns, &row);
		if (!stacks_value(&row, order))
			continue;
		if (count < most) {
			rows[count++] = row;
			for (size_t at = count / 2; count == most && at-- > 0;)
				sift_down(rows, count, at, order);
		} else if (is_before(&row, &rows[0], order)) {
			rows[0] = row;
			sift_down(rows, count, 0, order);
		}
	}
	stacks_sort(rows, count, order);
	return count;
}

bool stacks_get(const struct stacks *s, uint64_t stack_id, uint64_t before_ts_ns, struct stacks_row *row)
{
	const uint32_t *index = hash_get(&s->by_id, stack_id);

	if (index)
		make_row(s, slab_at(&s->stacks, *index), before_ts_ns, row);
	return index;
}

void stacks_by_owner(const struct stacks *s, stacks_owner_fn owner_of, void *arg, uint64_t before_ts_ns,
		     struct stacks_row *rows, size_t owners)
{
	for (size_t i = 0; i < owners; i++)
		rows[i] = (struct stacks_row){ .stack_id = i };
	for (uint32_t i = 1; i < s->stacks.count; i++) {
		const struct stack *stack = slab_at(&s->stacks, i);
		uint32_t owner = owner_of(arg, stack->id);
		struct stacks_row row, *sum;

		if (owner >= owners)
			continue;
		sum = &rows[owner];
		make_row(s, stack, before_ts_ns, &row);
		sum->live += row.live;
		sum->at_peak += row.at_peak;
		sum->grown += row.grown;
		sum->count += row.count;
		sum->allocs += row.allocs;
		sum->frees += row.frees;
		sum->alloc_bytes += row.alloc_bytes;
		sum->old_bytes += row.old_bytes;
		sum->old_count += row.old_count;
		if (row.oldest_ts_ns && (!sum->oldest_ts_ns || row.oldest_ts_ns < sum->oldest_ts_ns))
			sum->oldest_ts_ns = row.oldest_ts_ns;
	}
}
