// SPDX-License-Identifier: BSD-2-Clause
/*
 * Where memory lay at instants: equal to the live memory (window_now()) at each of these, whenever the window was made,
 * and the sums of the view's segments, blocks and gaps are those of the framework.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/xalloc.h"
#include "core/framework/framework_state.h"
#include "core/framework/frameworks.h"
#include "core/history/instants.h"
#include "core/history/window.h"
#include "core/ledger/ledger_state.h"
#include "history_scene.h"

#define OUT_OF_MEMORY 2          /* CUDA_ERROR_OUT_OF_MEMORY */

static const struct process *process_of_scene(const struct scene *c)
{
	return process_newest(&c->r.ledger->processes, 100);
}

static const struct instants_process *instants_of(const struct scene *c)
{
	return instants_made(c->r.pipeline->instants, process_of_scene(c));
}

/* The newest instant of the kind; NULL: there is none. */
static const struct instant *newest(const struct scene *c, enum instant_why why)
{
	const struct instants_process *ip = instants_of(c);
	const struct instant *found = NULL;

	for (size_t i = 0; ip && i < ip->count; i++)
		if (ip->list[i].why == why)
			found = &ip->list[i];
	return found;
}

static void take_present(const struct scene *c, struct window *w)
{
	const struct process *p = process_of_scene(c);

	window_now(w, p, frameworks_of(c->r.pipeline->frameworks, p));
}

static uint64_t bytes_of(const struct rangemap *map)
{
	struct rangemap_pos pos = { 0 };
	const struct range *r;
	uint64_t sum = 0;

	while ((r = rangemap_next(map, &pos)))
		sum += r->length;
	return sum;
}

/* A segment whose release has failed may be as old as the failure, and have its stack. */
static void assert_same_ranges(const struct rangemap *a, const struct rangemap *b, bool has_births)
{
	struct rangemap_pos at_a = { 0 }, at_b = { 0 };
	const struct range *r, *s;

	assert_int_equal(a->count, b->count);
	while ((r = rangemap_next(a, &at_a)) && (s = rangemap_next(b, &at_b))) {
		assert_int_equal(r->base, s->base);
		assert_int_equal(r->length, s->length);
		assert_true(!has_births || r->offset == s->offset);
		assert_true(!has_births || (uint32_t)r->value == (uint32_t)s->value);
	}
}

static void assert_same_window(const struct window *a, const struct window *b)
{
	assert_same_ranges(&a->segments, &b->segments, false);
	assert_same_ranges(&a->blocks, &b->blocks, true);
}

static void fail_request(struct scene *c, uint64_t bytes)
{
	FAIL(&c->r, cuMemAlloc_v2, OUT_OF_MEMORY, 0, bytes);
}

/* ---- one instant ---- */

/* Two segments with blocks and gaps: at the peak, at a request that fails, and at the end. */
static void use_memory(struct scene *c)
{
	setup(c, 100);
	CALL(&c->r, cuMemAlloc_v2, BASE, 20 * MiB);
	c->reserved = 20 * MiB;
	c->r.stack_id = 7;
	block(c, BASE, 4 * MiB);
	block(c, BASE + 4 * MiB, 6 * MiB);
	block(c, BASE + 12 * MiB, 8 * MiB);
	CALL(&c->r, cuMemAlloc_v2, FAR, 10 * MiB);
	c->reserved += 10 * MiB;
	block(c, FAR, MiB);
	block(c, BASE + 4 * MiB, -6 * (int64_t)MiB);
	fail_request(c, 64 * MiB);
	block(c, FAR, -(int64_t)MiB);
}

static void the_peak_is_that_of_blocks(void **state)
{
	const struct instant *peak;
	struct scene c;

	(void)state;
	use_memory(&c);
	peak = newest(&c, INSTANT_PEAK);
	assert_non_null(peak);
	assert_int_equal(peak->device, 0);
	assert_int_equal(peak->bytes, 19 * MiB);
	assert_int_equal(bytes_of(&peak->window.blocks), 19 * MiB);
	assert_int_equal(bytes_of(&peak->window.segments), 30 * MiB);
	assert_int_equal(peak->window.blocks.count, 4);
	teardown(&c);
}

static void a_failed_request_has_its_instant(void **state)
{
	const struct instant *request;
	struct scene c;

	(void)state;
	use_memory(&c);
	request = newest(&c, INSTANT_REQUEST);
	assert_non_null(request);
	assert_int_equal(request->bytes, 64 * MiB);
	assert_int_equal(bytes_of(&request->window.blocks), 13 * MiB);
	assert_int_equal(bytes_of(&request->window.segments), 30 * MiB);
	teardown(&c);
}

static void the_end_is_that_before_the_exit(void **state)
{
	const struct instant *end;
	struct scene c;

	(void)state;
	use_memory(&c);
	records_exit(&c.r, 0);
	end = newest(&c, INSTANT_END);
	assert_non_null(end);
	assert_true(end->is_made);
	assert_int_equal(bytes_of(&end->window.blocks), 12 * MiB);
	assert_true(newest(&c, INSTANT_PEAK)->is_made);
	assert_true(newest(&c, INSTANT_REQUEST)->is_made);
	teardown(&c);
}

static void without_a_framework_segments_peak(void **state)
{
	const struct instant *peak;
	struct scene c;

	(void)state;
	setup(&c, 100);
	CALL(&c.r, cuMemAlloc_v2, BASE, 3 * MiB);
	CALL(&c.r, cuMemAlloc_v2, FAR, MiB);
	RELEASE(&c.r, cuMemFree_v2, BASE);
	peak = newest(&c, INSTANT_PEAK);
	assert_int_equal(peak->bytes, 4 * MiB);
	assert_int_equal(bytes_of(&peak->window.segments), 4 * MiB);
	assert_int_equal(peak->window.blocks.count, 0);
	teardown(&c);
}

static void only_the_newest_requests_stay(void **state)
{
	const struct instants_process *ip;
	struct scene c;
	size_t requests = 0;

	(void)state;
	setup(&c, 1000);
	CALL(&c.r, cuMemAlloc_v2, BASE, 2 * MiB);
	for (uint64_t i = 1; i <= 3 * INSTANT_NEWEST; i++) {
		fail_request(&c, i * GiB);
		c.r.tid++;
		CALL(&c.r, cuMemAlloc_v2, FAR + i * 2 * MiB, 2 * MiB);
	}
	ip = instants_of(&c);
	for (size_t i = 0; i < ip->count; i++)
		requests += ip->list[i].why == INSTANT_REQUEST;
	assert_int_equal(requests, INSTANT_NEWEST);
	assert_int_equal(ip->dropped, 2 * INSTANT_NEWEST);
	assert_int_equal(newest(&c, INSTANT_REQUEST)->bytes, 3 * INSTANT_NEWEST * GiB);
	teardown(&c);
}

static void a_request_that_is_met_has_none(void **state)
{
	struct scene c;

	(void)state;
	setup(&c, 100);
	CALL(&c.r, cuMemAlloc_v2, BASE, 2 * MiB);
	fail_request(&c, MiB);
	CALL(&c.r, cuMemAlloc_v2, FAR, MiB);
	assert_null(newest(&c, INSTANT_REQUEST));
	teardown(&c);
}

/* ---- the bound ---- */

static void the_smallest_segments_are_left_out(void **state)
{
	struct instant_left_out left_out;
	struct scene c;
	struct window w;

	(void)state;
	use_memory(&c);
	take_present(&c, &w);
	assert_int_equal(w.segments.count + w.blocks.count, 4);
	instant_cut(&w, 4, &left_out);
	assert_int_equal(left_out.segments, 0);
	instant_cut(&w, 3, &left_out);
	assert_int_equal(left_out.segments, 1);
	assert_int_equal(left_out.bytes, 10 * MiB);
	assert_int_equal(left_out.blocks, 0);
	assert_int_equal(bytes_of(&w.segments), 20 * MiB);
	instant_cut(&w, 2, &left_out);
	assert_int_equal(left_out.bytes, 20 * MiB);
	assert_int_equal(left_out.held, 12 * MiB);
	assert_int_equal(left_out.blocks, 2);
	assert_int_equal(w.blocks.count, 0);
	window_free(&w);
	teardown(&c);
}

static void blocks_without_a_segment_take_no_room(void **state)
{
	struct instant_left_out left_out;
	struct scene c;
	struct window w;

	(void)state;
	use_memory(&c);
	take_present(&c, &w);
	for (uint64_t i = 0; i < 10; i++)
		rangemap_insert(&w.blocks, &(struct range){ .base = BASE + (1 + i) * GiB, .length = MiB });
	instant_cut(&w, 4, &left_out);
	assert_int_equal(left_out.segments, 0);
	assert_int_equal(w.segments.count + w.blocks.count, 4);
	window_free(&w);
	teardown(&c);
}

static void the_room_comes_back(void **state)
{
	struct scene c;
	uint32_t room;

	(void)state;
	use_memory(&c);
	newest(&c, INSTANT_PEAK);
	room = c.r.pipeline->instants->room;
	assert_true(room < INSTANTS_RANGES);
	for (int i = 0; i < 3 * INSTANT_NEWEST; i++) {
		c.r.tid++;
		fail_request(&c, GiB);
		newest(&c, INSTANT_REQUEST);
	}
	assert_true(c.r.pipeline->instants->room + (INSTANT_NEWEST + 1) * 6 >= INSTANTS_RANGES);
	teardown(&c);
}

/* ---- against the live memory ---- */

/* What was alive at the instants that have begun so far. */
struct truth {
	struct window windows[1024];
	uint64_t at[1024];
	size_t count;
};

static void note_truth(const struct scene *c, struct truth *t)
{
	assert_true(t->count < 1024);
	take_present(c, &t->windows[t->count]);
	t->at[t->count++] = c->r.ts_ns - 1;
}

static size_t compare_to_truth(const struct scene *c, const struct truth *t)
{
	const struct instants_process *ip = instants_of(c);
	size_t compared = 0;

	for (size_t i = 0; ip && i < ip->count; i++) {
		assert_true(ip->list[i].is_made);
		if (ip->list[i].why == INSTANT_PEAK) {
			bool has_blocks = ip->list[i].window.blocks.count;
			const struct window *w = &ip->list[i].window;

			assert_int_equal(bytes_of(has_blocks ? &w->blocks : &w->segments), ip->list[i].bytes);
		}
		for (size_t n = 0; n < t->count; n++)
			if (ip->list[i].why != INSTANT_PEAK && t->at[n] == ip->list[i].ts_ns) {
				assert_same_window(&ip->list[i].window, &t->windows[n]);
				compared++;
			}
	}
	return compared;
}

/* An allocator: segments side by side, or far apart, with blocks of the same size as the gaps. */
#define SLOTS 16
#define CELLS 4                      /* of a segment */
#define CELL (MiB / 2)

struct slot {
	bool is_live, is_mapped;
	unsigned int blocks[CELLS]; /* cells of the block that begins there; 0: none does */
};

static uint64_t address_of(unsigned int slot)
{
	return BASE + slot * CELLS * CELL;
}

static bool has_blocks(const struct slot *s)
{
	for (int i = 0; i < CELLS; i++)
		if (s->blocks[i])
			return true;
	return false;
}

static void change_segment(struct scene *c, struct slot *s, unsigned int slot)
{
	uint64_t at = address_of(slot);
	uint32_t seq;

	if (!s->is_live) {
		s->is_live = true;
		s->is_mapped = below(2);
		if (s->is_mapped)
			map(c, c->r.ts_ns, at);
		else
			CALL(&c->r, cuMemAlloc_v2, at, CELLS * CELL);
		return;
	}
	if (s->is_mapped) {
		RELEASE(&c->r, cuMemUnmap, at, CELLS * CELL);
	} else {
		seq = RELEASE(&c->r, cuMemFree_v2, at);
		if (!below(3)) {
			UNDO(&c->r, cuMemFree_v2, seq, 1, at);
			return;
		}
	}
	*s = (struct slot){ 0 };
}

static void change_block(struct scene *c, struct slot *s, unsigned int slot)
{
	unsigned int cell = below(CELLS), cells = 1 + below(2), end = 0;

	for (unsigned int i = 0; i < CELLS; i++) {
		end = s->blocks[i] ? i + s->blocks[i] : end;
		if (s->blocks[i] && i == cell) {
			block(c, address_of(slot) + cell * CELL, -(int64_t)(s->blocks[i] * CELL));
			s->blocks[i] = 0;
			return;
		}
	}
	cell = end;
	if (cell + cells > CELLS)
		return;
	s->blocks[cell] = cells;
	c->r.stack_id = 1 + below(5);
	block(c, address_of(slot) + cell * CELL, cells * CELL);
}

/* A segment goes only without blocks, as PyTorch's do. */
static void one_change(struct scene *c, struct slot *slots)
{
	unsigned int slot = below(SLOTS);
	struct slot *s = &slots[slot];

	if (!s->is_live || (!has_blocks(s) && !below(3)))
		change_segment(c, s, slot);
	else
		change_block(c, s, slot);
}

/* At times a request fails, and at times somebody looks. If that is seldom, windows are made for want of room in the
 * log. */
static size_t live_through(uint32_t round, uint32_t records, uint32_t seldom)
{
	struct truth *t = xcalloc(1, sizeof(*t));
	struct slot slots[SLOTS] = { 0 };
	struct scene c;
	size_t compared = 0;

	seed = round;
	setup(&c, 20);
	for (uint32_t i = 0; i < records; i++) {
		one_change(&c, slots);
		if (!below(seldom)) {
			c.r.tid++;
			fail_request(&c, GiB);
			note_truth(&c, t);
		}
		if (!below(seldom))
			compared += compare_to_truth(&c, t);
	}
	compared += compare_to_truth(&c, t);
	for (size_t i = 0; i < t->count; i++)
		window_free(&t->windows[i]);
	free(t);
	teardown(&c);
	return compared;
}

static void instants_are_the_live_memory_then(void **state)
{
	size_t compared = 0;

	(void)state;
	for (uint32_t round = 0; round < 100; round++)
		compared += live_through(round, 500, 20);
	for (uint32_t round = 0; round < 3; round++)
		compared += live_through(1000 + round, 60000, 3000);
	print_message("# %zu windows compared\n", compared);
	assert_true(compared > 1000);
}

/* ---- the view ---- */

static void sums_of_the_view(void **state)
{
	struct view view;
	struct scene c;
	size_t seen = 0;

	(void)state;
	use_memory(&c);
	view_build(c.r.pipeline, &(struct view_request){ .instants = true }, &view);
	assert_non_null(view.instants);
	for (size_t i = 0; i < view.instants->count; i++) {
		const struct view_instant *instant = &view.instants->list[i];
		uint64_t reserved = 0, held = 0, blocks = 0;

		for (size_t n = 0; n < instant->segment_count; n++) {
			reserved += instant->segments[n].bytes;
			held += instant->segments[n].held;
		}
		for (size_t n = 0; n < instant->block_count; n++)
			blocks += instant->blocks[n].bytes;
		assert_int_equal(held, blocks);
		assert_int_equal(reserved, 30 * MiB);
		if (instant->why != INSTANT_END)
			continue;
		assert_int_equal(reserved, c.reserved);
		assert_int_equal(held, c.allocated);
		seen++;
	}
	assert_int_equal(seen, 1);
	assert_int_equal(view.instants->count, 3);
	view_free(&view);
	teardown(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_peak_is_that_of_blocks),
		cmocka_unit_test(a_failed_request_has_its_instant),
		cmocka_unit_test(the_end_is_that_before_the_exit),
		cmocka_unit_test(without_a_framework_segments_peak),
		cmocka_unit_test(only_the_newest_requests_stay),
		cmocka_unit_test(a_request_that_is_met_has_none),
		cmocka_unit_test(the_smallest_segments_are_left_out),
		cmocka_unit_test(blocks_without_a_segment_take_no_room),
		cmocka_unit_test(the_room_comes_back),
		cmocka_unit_test(instants_are_the_live_memory_then),
		cmocka_unit_test(sums_of_the_view),
	};

	return cmocka_run_group_tests_name("instants", tests, NULL, NULL);
}
