// SPDX-License-Identifier: BSD-2-Clause
#include "core/account/stacks.h"

#include <stdlib.h>

#include "base/xalloc.h"

void stacks_init(struct stacks *s)
{
	*s = (struct stacks){ 0 };
	hash_init(&s->by_id, sizeof(uint32_t));
}

void stacks_fini(struct stacks *s)
{
	hash_fini(&s->by_id);
	free(s->list);
	*s = (struct stacks){ 0 };
}

static uint32_t put_stack(struct stacks *s, uint32_t id)
{
	bool is_new;
	uint32_t *index;

	if (s->is_closed && id && !hash_get(&s->by_id, id))
		id = 0;
	index = hash_put(&s->by_id, id, &is_new);
	if (!is_new)
		return *index;
	s->list = xgrow(s->list, s->count, sizeof(*s->list));
	s->list[s->count] = (struct stack){ .id = id };
	*index = s->count++;
	return *index;
}

/* The least that the stack has held from the mark to the next one, or until now. */
static inline uint64_t least_from(const struct stacks *s, const struct stack *stack, unsigned int mark)
{
	return stack->changed <= s->mark_change[mark] ? stack->live : stack->least[mark];
}

static void before_change_after_peak(const struct stacks *s, struct stack *stack)
{
	stack->at_peak = stack->live;
	for (unsigned int i = 0; i < STACKS_GROWTH_MARKS; i++)
		stack->least_at_peak[i] = least_from(s, stack, i);
}

static void before_change_after_mark(const struct stacks *s, struct stack *stack)
{
	for (unsigned int i = 0; i < STACKS_MARKS; i++) {
		if (stack->changed > s->mark_change[i])
			continue;
		stack->at_mark[i] = stack->live;
		if (i < STACKS_GROWTH_MARKS)
			stack->least[i] = stack->live;
	}
}

/* Writes down what the stack held at the peak and at the marks, if it has not changed since. */
static inline void before_change(struct stacks *s, struct stack *stack)
{
	if (stack->changed <= s->peak_change)
		before_change_after_peak(s, stack);
	/* Most stacks have changed since the newest mark: then one look is enough for all marks. */
	if (stack->changed <= s->newest_mark)
		before_change_after_mark(s, stack);
	stack->changed = ++s->changes;
}

/* The stack holds less. */
static inline void after_fall(const struct stacks *s, struct stack *stack)
{
	uint64_t *least = &stack->least[s->newest_growth];

	if (stack->live < *least)
		*least = stack->live;
}

/* The stack, ready to be changed. Good until the next call. */
static inline struct stack *change_stack(struct stacks *s, uint32_t id)
{
	if (!s->count || s->list[s->last].id != id)
		s->last = put_stack(s, id);
	before_change(s, &s->list[s->last]);
	return &s->list[s->last];
}

static inline void raise_live(struct stacks *s, struct stack *stack, uint64_t bytes, uint64_t ts_ns)
{
	stack->live += bytes;
	s->live += bytes;
	if (s->live > s->peak) {
		s->peak = s->live;
		s->peak_ts_ns = ts_ns;
		s->peak_change = s->changes;
	}
}

static inline void lower_live(struct stacks *s, struct stack *stack, uint64_t bytes)
{
	stack->live -= bytes;
	s->live -= bytes;
}

void stacks_add(struct stacks *s, uint32_t id, uint64_t bytes, uint64_t ts_ns)
{
	struct stack *stack = change_stack(s, id);

	stack->count++;
	stack->allocs++;
	stack->alloc_bytes += bytes;
	s->allocs++;
	raise_live(s, stack, bytes, ts_ns);
}

void stacks_remove(struct stacks *s, uint32_t id, uint64_t bytes)
{
	struct stack *stack = change_stack(s, id);

	stack->count--;
	stack->frees++;
	lower_live(s, stack, bytes);
	after_fall(s, stack);
}

void stacks_restore(struct stacks *s, uint32_t id, uint64_t bytes, uint64_t ts_ns)
{
	struct stack *stack = change_stack(s, id);

	stack->count++;
	stack->frees--;
	raise_live(s, stack, bytes, ts_ns);
}

/* Changes the stack as if the allocation had never been there. */
static void undo_add(struct stacks *s, uint32_t id, uint64_t bytes)
{
	struct stack *stack = change_stack(s, id);

	stack->count--;
	stack->allocs--;
	stack->alloc_bytes -= bytes;
	s->allocs--;
	lower_live(s, stack, bytes);
	after_fall(s, stack);
}

void stacks_move(struct stacks *from, struct stacks *to, uint32_t id, uint64_t bytes, uint64_t ts_ns)
{
	if (from == to)
		return;
	undo_add(from, id, bytes);
	if (!from->allocs) {
		bool is_closed = from->is_closed;

		stacks_fini(from);
		stacks_init(from);
		from->is_closed = is_closed;
	}
	stacks_add(to, id, bytes, ts_ns);
}

void stacks_resize(struct stacks *s, uint32_t id, uint64_t old_bytes, uint64_t bytes, uint64_t ts_ns)
{
	struct stack *stack = change_stack(s, id);

	stack->alloc_bytes += bytes - old_bytes;
	lower_live(s, stack, old_bytes);
	raise_live(s, stack, bytes, ts_ns);
	after_fall(s, stack);
}

void stacks_drop(struct stacks *s)
{
	for (uint32_t i = 0; i < s->count; i++) {
		before_change(s, &s->list[i]);
		s->list[i].live = 0;
		s->list[i].count = 0;
		after_fall(s, &s->list[i]);
	}
	s->live = 0;
}

void stacks_close(struct stacks *s)
{
	s->is_closed = true;
}

void stacks_mark(struct stacks *s, unsigned int mark)
{
	s->mark_change[mark] = s->newest_mark = s->changes;
	if (mark < STACKS_GROWTH_MARKS)
		s->newest_growth = (uint8_t)mark;
}

void stacks_restart(struct stacks *s, uint64_t ts_ns)
{
	s->peak = s->live;
	s->peak_ts_ns = ts_ns;
	s->peak_change = s->changes;
}

uint64_t stacks_held(const struct stacks *s, uint32_t index, unsigned int moment)
{
	const struct stack *stack = &s->list[index];

	if (moment == STACKS_AT_START)
		return 0;
	if (moment == STACKS_AT_PEAK)
		return stack->changed <= s->peak_change ? stack->live : stack->at_peak;
	if (moment >= STACKS_MARKS || stack->changed <= s->mark_change[moment])
		return stack->live;
	return stack->at_mark[moment];
}

void stacks_row(const struct stacks *s, uint32_t index, unsigned int since, struct stacks_row *row)
{
	const struct stack *stack = &s->list[index];

	*row = (struct stacks_row){
		.stack_id = stack->id,
		.live = stack->live,
		.at_peak = stacks_held(s, index, STACKS_AT_PEAK),
		.grown = (int64_t)(stack->live - stacks_held(s, index, since)),
		.count = stack->count,
		.allocs = stack->allocs,
		.frees = stack->frees,
		.alloc_bytes = stack->alloc_bytes,
	};
}

uint64_t stacks_sum(const struct stacks *s, unsigned int moment)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < s->count; i++)
		sum += stacks_held(s, i, moment);
	return sum;
}

/* The least from a mark of growth until another moment, between which is one more mark at most. */
static uint64_t least_until(const struct stacks *s, const struct stack *stack, unsigned int mark, unsigned int until)
{
	bool is_peak = until == STACKS_AT_PEAK, has_kept = is_peak && stack->changed > s->peak_change;
	unsigned int next = (mark + 1) % STACKS_GROWTH_MARKS;
	uint64_t least = has_kept ? stack->least_at_peak[mark] : least_from(s, stack, mark), more;

	if (until < STACKS_MARKS || s->mark_change[next] < s->mark_change[mark] ||
	    (is_peak && s->mark_change[next] > s->peak_change))
		return least;
	more = has_kept ? stack->least_at_peak[next] : least_from(s, stack, next);
	return more < least ? more : least;
}

/* How much the least has risen from the time before the mark to the time since. Marks of growth are set in turn. */
static int64_t least_rise(const struct stacks *s, const struct stack *stack, unsigned int mark, unsigned int until)
{
	unsigned int before = (mark + STACKS_GROWTH_MARKS - 1) % STACKS_GROWTH_MARKS;

	if (mark >= STACKS_GROWTH_MARKS)
		return 0;
	return (int64_t)(least_until(s, stack, mark, until) - least_until(s, stack, before, mark));
}

struct stacks_rise stacks_rise(const struct stacks *s, uint32_t index, const unsigned int at[STACKS_RISE_MOMENTS])
{
	uint64_t then = stacks_held(s, index, at[STACKS_RISE_SINCE]);
	uint64_t until = stacks_held(s, index, at[STACKS_RISE_UNTIL]);

	return (struct stacks_rise){
		.all = (int64_t)(until - then), .then = then,
		.later = (int64_t)(until - stacks_held(s, index, at[STACKS_RISE_LATER])),
		.least = least_rise(s, &s->list[index], at[STACKS_RISE_LATER], at[STACKS_RISE_UNTIL]),
	};
}
