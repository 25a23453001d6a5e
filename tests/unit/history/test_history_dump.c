// SPDX-License-Identifier: BSD-2-Clause
/* Windows: a history as records, and a history made of these again, gives the same snapshots. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "core/history/history_dump.h"
#include "core/history/window.h"
#include "core/ledger/process.h"
#include "history_scene.h"

/* What a dump is read into. */
struct other {
	struct pipeline *pipeline;
	struct history *history;
	struct snapshot s;
	unsigned int records, refused;
};

static void take(void *arg, const void *record, size_t size)
{
	struct other *o = arg;

	o->records++;
	o->refused += pipeline_apply(o->pipeline, record, size) != 0;
}

static void begin(struct other *o, uint64_t most)
{
	struct gmt_attach attach = { .hdr = { .size = sizeof(attach), .kind = GMT_KIND_ATTACH, .tgid = 100 } };

	*o = (struct other){ .pipeline = pipeline_new(&(struct pipeline_options){ .history_events = most }) };
	o->history = o->pipeline->history;
	take(o, &attach, sizeof(attach));
	attach.hdr.tgid = 101;
	take(o, &attach, sizeof(attach));
	o->records = 0;
}

static void finish(struct other *o)
{
	snapshot_free(&o->s);
	pipeline_free(o->pipeline);
}

/* Reads back what ends before `until`, keeping `most` events: no viewer chokes on it. */
static const struct snapshot *again_of(struct other *o, const struct scene *c, uint64_t until, uint64_t most)
{
	const char *wrong;

	begin(o, most);
	history_dump_put(history_dump_begin(c->r.history, until, NULL), take, o);
	assert_int_equal(o->refused, 0);
	if (!o->history->process_count)
		return &o->s;
	snapshot_build(o->history, 0, &o->s);
	wrong = viewer_problem(&o->s);
	if (wrong)
		fail_msg("%s", wrong);
	return &o->s;
}

static const struct snapshot *again(struct other *o, const struct scene *c, uint64_t until)
{
	return again_of(o, c, until, c->r.history->most);
}

static void assert_same(const struct snapshot *a, const struct snapshot *b)
{
	assert_int_equal(a->event_count, b->event_count);
	assert_int_equal(a->segment_count, b->segment_count);
	assert_int_equal(a->block_count, b->block_count);
	assert_int_equal(a->device_count, b->device_count);
	assert_int_equal(a->is_expandable, b->is_expandable);
	assert_int_equal(a->dropped, b->dropped);
	for (size_t i = 0; i < a->event_count; i++) {
		assert_int_equal(a->events[i].ts_ns, b->events[i].ts_ns);
		assert_int_equal(a->events[i].address, b->events[i].address);
		assert_int_equal(a->events[i].size, b->events[i].size);
		assert_int_equal(a->events[i].stack_id, b->events[i].stack_id);
		assert_int_equal(a->events[i].action, b->events[i].action);
		assert_int_equal(a->events[i].why, b->events[i].why);
		assert_int_equal(a->events[i].device, b->events[i].device);
	}
	for (size_t i = 0; i < a->segment_count; i++) {
		assert_int_equal(a->segments[i].address, b->segments[i].address);
		assert_int_equal(a->segments[i].size, b->segments[i].size);
		assert_int_equal(a->segments[i].active, b->segments[i].active);
		assert_int_equal(a->segments[i].stack_id, b->segments[i].stack_id);
		assert_int_equal(a->segments[i].why, b->segments[i].why);
		assert_int_equal(a->segments[i].device, b->segments[i].device);
		assert_int_equal(a->segments[i].is_expandable, b->segments[i].is_expandable);
	}
	for (size_t i = 0; i < a->block_count; i++) {
		assert_int_equal(a->blocks[i].address, b->blocks[i].address);
		assert_int_equal(a->blocks[i].size, b->blocks[i].size);
		assert_int_equal(a->blocks[i].stack_id, b->blocks[i].stack_id);
		assert_int_equal(a->blocks[i].why, b->blocks[i].why);
		assert_int_equal(a->blocks[i].active, b->blocks[i].active);
	}
}

static void assert_same_purposes(const struct snapshot *a, const struct snapshot *b)
{
	for (size_t i = 0; i < a->event_count; i++)
		assert_int_equal(a->events[i].category, b->events[i].category);
}

static void assert_same_marks(const struct snapshot *a, const struct snapshot *b)
{
	assert_int_equal(a->mark_count, b->mark_count);
	for (size_t i = 0; i < a->mark_count; i++) {
		assert_int_equal(a->marks[i].ts_ns, b->marks[i].ts_ns);
		assert_int_equal(a->marks[i].is_end, b->marks[i].is_end);
		assert_string_equal(a->marks[i].name, b->marks[i].name);
	}
}

/* ---- what happens ---- */

/* Segments, blocks, pieces, another allocation; more than is kept, when `most` is small. */
static void life(struct scene *c)
{
	struct gmt_fw_size size = { .ptr = BASE + 4 * MiB, .size = 6 * MiB - 7, .device_type = GMT_FW_GPU };

	c->reserved = 20 * MiB;
	c->r.stack_id = 5;
	CALL(&c->r, cuMemAlloc_v2, BASE, 20 * MiB);
	block(c, BASE, 4 * MiB);
	c->r.stack_id = 6;
	block(c, BASE + 4 * MiB, 6 * MiB);
	records_apply(&c->r, &size, GMT_KIND_FW_SIZE, sizeof(size));
	block(c, BASE, -4 * (int64_t)MiB);
	CALL(&c->r, cuMemAlloc_v2, BASE - 64 * MiB, 32 * MiB);
	map(c, 1, FAR);
	map(c, 2, FAR + 2 * MiB);
	c->r.stack_id = 0;
	block(c, FAR, 3 * MiB);
	block(c, FAR, -3 * (int64_t)MiB);
	RELEASE(&c->r, cuMemUnmap, FAR, 2 * MiB);
}

static void the_present(void **state)
{
	const uint64_t keeps[] = { 100, 4 };
	struct other o;
	struct scene c;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		setup(&c, keeps[i]);
		life(&c);
		assert_same(check(&c), again(&o, &c, c.r.history->next));
		assert_int_equal(c.s.dropped != 0, i);
		assert_int_equal(o.s.segments[1].active - o.s.segments[1].asked, 7);
		finish(&o);
		teardown(&c);
	}
}

static void assert_same_events(const struct history *a, const struct history *b)
{
	assert_int_equal(a->next, b->next);
	for (uint64_t n = b->first; n < b->next; n++) {
		const struct history_event *one = history_event(a, n), *other = history_event(b, n);

		assert_int_equal(one->ts_ns, other->ts_ns);
		assert_int_equal(one->kind, other->kind);
		assert_int_equal(one->address, other->address);
		assert_int_equal(one->size, other->size);
		assert_int_equal(one->born == 0, other->born == 0);
		assert_int_equal(one->stack_id, other->stack_id);
	}
}

/* More events were than are kept: their numbers go on, and a reader may keep as many, fewer or more. */
static void a_window_that_has_wrapped(void **state)
{
	const uint64_t keeps[] = { 60, 7, 61, 300, 200000 };
	struct other o;
	struct scene c;

	(void)state;
	setup(&c, 60);
	for (int i = 0; i < 700; i++) {
		c.r.stack_id = 1 + i % 9;
		CALL(&c.r, cuMemAlloc_v2, BASE + i % 5 * 2 * MiB, 2 * MiB);
		RELEASE(&c.r, cuMemFree_v2, BASE + i % 5 * 2 * MiB);
	}
	life(&c);
	check(&c);
	assert_int_equal(c.r.history->next - c.r.history->first, 60);
	for (size_t i = 0; i < sizeof(keeps) / sizeof(keeps[0]); i++) {
		again_of(&o, &c, c.r.history->next, keeps[i]);
		assert_int_equal(o.history->next - o.history->first, keeps[i] < 60 ? keeps[i] : 60);
		assert_same_events(c.r.history, o.history);
		if (keeps[i] >= 60)
			assert_same(&c.s, &o.s);
		finish(&o);
	}
	again_of(&o, &c, c.r.history->next - 20, 200000);
	assert_int_equal(o.history->first, c.r.history->first);
	assert_int_equal(o.history->next, c.r.history->next - 20);
	finish(&o);
	teardown(&c);
}

static void a_moment_before(void **state)
{
	struct snapshot then = { 0 };
	struct other o;
	struct scene c;
	uint64_t until;

	(void)state;
	setup(&c, 100);
	life(&c);
	check(&c);
	then = c.s;
	c.s = (struct snapshot){ 0 };
	until = c.r.history->next;
	block(&c, BASE + 4 * MiB, -6 * (int64_t)MiB);
	RELEASE(&c.r, cuMemFree_v2, BASE);
	CALL(&c.r, cuMemAlloc_v2, BASE, 8 * MiB);
	block(&c, BASE + MiB, MiB);
	RELEASE(&c.r, cuMemUnmap, FAR + 2 * MiB, 2 * MiB);
	assert_same(&then, again(&o, &c, until));
	finish(&o);
	snapshot_free(&then);
	teardown(&c);
}

static void the_moment_of_a_request(void **state)
{
	struct gmt_oom rec = { .number = 1 };
	struct other o;
	struct scene c;

	(void)state;
	setup(&c, 100);
	CALL(&c.r, cuMemAlloc_v2, BASE, 2 * MiB);
	FAIL(&c.r, cuMemAlloc_v2, 2, 0, 8 * MiB);
	RELEASE(&c.r, cuMemFree_v2, BASE);
	rec.hdr.ts_ns = c.r.ts_ns;
	FAIL(&c.r, cuMemAlloc_v2, 2, 0, 8 * MiB);
	CALL(&c.r, cuMemAlloc_v2, BASE, MiB);
	again(&o, &c, history_moment(c.r.history, &rec));
	assert_string_equal(story(&o.s), "SarfFO");
	assert_int_equal(o.s.segment_count, 0);
	finish(&o);
	/* Of one that has no event, by its time. */
	rec.number = 2;
	rec.hdr.ts_ns--;
	again(&o, &c, history_moment(c.r.history, &rec));
	assert_string_equal(story(&o.s), "SarfF");
	finish(&o);
	rec.number = 0;
	assert_int_equal(history_moment(c.r.history, &rec), c.r.history->next);
	teardown(&c);
}

static void what_was_there_before_tracing(void **state)
{
	struct other o;
	struct scene c;

	(void)state;
	setup_late(&c);
	block(&c, BASE + 5 * MiB, 6 * MiB);
	block(&c, FAR, -10 * (int64_t)MiB);
	assert_same(check(&c), again(&o, &c, c.r.history->next));
	assert_int_equal(o.s.segments[o.s.segment_count - 1].why, SNAPSHOT_WHY_UNSEEN);
	finish(&o);
	teardown(&c);
}

static void range(struct scene *c, enum gmt_range_what what, const char *name)
{
	struct gmt_fw_range rec = { .object = what == GMT_RANGE_BACKWARD ? 0 : 1, .what = what };

	strcpy((char *)rec.name, name);
	records_apply(&c->r, &rec, GMT_KIND_FW_RANGE, sizeof(rec));
}

/* Two iterations: a parameter, then in each an activation, a gradient; in the first the optimizer's state. */
static void training(struct scene *c)
{
	c->reserved = 20 * MiB;
	CALL(&c->r, cuMemAlloc_v2, BASE, 20 * MiB);
	block(c, BASE, MiB);
	for (int i = 0; i < 2; i++) {
		block(c, BASE + MiB, MiB);
		range(c, GMT_RANGE_BACKWARD, "");
		c->r.tid = 101;
		block(c, BASE + 2 * MiB, MiB);
		block(c, BASE + MiB, -(int64_t)MiB);
		c->r.tid = 100;
		range(c, GMT_RANGE_BEGIN, "Optimizer.step#SGD.step");
		if (!i)
			block(c, BASE + 3 * MiB, MiB);
		range(c, GMT_RANGE_END, "");
		range(c, GMT_RANGE_END, "");          /* the object's end */
		range(c, GMT_RANGE_BEGIN, "Optimizer.zero_grad#SGD.zero_grad");
		block(c, BASE + 2 * MiB, -(int64_t)MiB);
		range(c, GMT_RANGE_END, "");
	}
	block(c, BASE + 4 * MiB, MiB);
}

/* The categories of allocations, by their first letters; '-' is none. */
static const char *purposes(const struct snapshot *s)
{
	static char text[64];
	size_t count = 0;

	for (size_t i = 0; i < s->event_count && count < sizeof(text) - 1; i++) {
		unsigned int category = s->events[i].category;

		if (s->events[i].action == SNAPSHOT_ALLOC)
			text[count++] = category ? gmt_category_name(category - 1)[0] : '-';
	}
	text[count] = '\0';
	return text;
}

static void what_blocks_are_for(void **state)
{
	struct other o;
	struct scene c;
	uint64_t until;

	(void)state;
	setup(&c, 100);
	training(&c);
	/* parameter, activation, gradient, state; activation, gradient; one of which nothing is known yet */
	assert_string_equal(purposes(check(&c)), "pagoaga");
	assert_same(&c.s, again(&o, &c, c.r.history->next));
	assert_same_purposes(&c.s, &o.s);
	assert_same_marks(&c.s, &o.s);
	assert_int_equal(c.s.mark_count, 8);
	assert_string_equal(c.s.marks[1].name, "Optimizer.step#SGD.step");
	assert_true(c.s.marks[1].is_end);
	finish(&o);
	/* What has been freed since is known for what it was. */
	until = c.r.history->next;
	block(&c, BASE + 4 * MiB, -(int64_t)MiB);
	assert_string_equal(purposes(again(&o, &c, until)), "pagoagt");
	finish(&o);
	/* The end of the process takes nothing away. */
	records_exit(&c.r, 0);
	assert_string_equal(purposes(check(&c)), "pagoagt");
	teardown(&c);
}

static void count_record(void *arg, const void *record, size_t size)
{
	(void)record;
	(void)size;
	++*(unsigned int *)arg;
}

static void subjects(void **state)
{
	struct history_subjects all;
	struct history_dump *dump;
	unsigned int records = 0;
	struct scene c;

	(void)state;
	setup(&c, 100);
	life(&c);
	c.r.tgid = 101;
	records_seen(&c.r, 7);
	CALL(&c.r, cuMemGetInfo_v2, 1, 2);
	dump = history_dump_begin(c.r.history, c.r.history->next, &all);
	assert_int_equal(all.tgid_count, 1);
	assert_int_equal(all.tgids[0], 100);
	assert_int_equal(all.stack_count, 2);
	assert_int_equal(all.stacks[0] + all.stacks[1], 5 + 6);
	history_dump_put(dump, count_record, &records);
	assert_true(records);
	history_subjects_free(&all);
	teardown(&c);
}

/* Two lives of a pid, and a pid that has nothing: of the newest life only, and numbers stay what they were. */
static void other_lives(void **state)
{
	struct other o;
	struct scene c;

	(void)state;
	setup(&c, 100);
	CALL(&c.r, cuMemAlloc_v2, BASE, 2 * MiB);
	CALL(&c.r, cuMemAlloc_v2, FAR, 2 * MiB);
	records_exit(&c.r, 0);
	records_seen(&c.r, 8);
	CALL(&c.r, cuMemAlloc_v2, FAR, 4 * MiB);
	RELEASE(&c.r, cuMemFree_v2, FAR);
	assert_same(check(&c), again(&o, &c, c.r.history->next));
	assert_int_equal(o.history->next, 4);
	finish(&o);
	teardown(&c);
	/* The newest life of the one has nothing to say. */
	setup(&c, 100);
	CALL(&c.r, cuMemAlloc_v2, BASE, 2 * MiB);
	records_exit(&c.r, 0);
	records_seen(&c.r, 8);
	CALL(&c.r, cuMemGetInfo_v2, 1, 2);
	c.r.tgid = c.r.tid = 101;
	records_seen(&c.r, 9);
	CALL(&c.r, cuMemAlloc_v2, FAR, 4 * MiB);
	assert_same(check(&c), again(&o, &c, c.r.history->next));
	assert_int_equal(o.history->next, 2);
	assert_int_equal(o.history->processes[0].of->tgid, 101);
	finish(&o);
	teardown(&c);
}

/* While nobody wants a snapshot of all: what ended, and has no event any longer, is forgotten. */
static void the_dead_are_forgotten(void **state)
{
	struct scene c;

	(void)state;
	for (int keeps = 0; keeps < 2; keeps++) {
		setup(&c, 4);
		c.r.history->keeps_ended = keeps;
		CALL(&c.r, cuMemAlloc_v2, BASE, 2 * MiB);
		records_exit(&c.r, 0);
		for (uint32_t pid = 101; pid < 106; pid++) {
			c.r.tgid = c.r.tid = pid;
			records_seen(&c.r, pid);
			CALL(&c.r, cuMemAlloc_v2, BASE, 2 * MiB);
			if (pid < 105)
				records_exit(&c.r, 0);
		}
		for (uint32_t i = 0; i < 6; i++) {
			struct window w;

			history_window(c.r.history, i, &w);
			assert_int_equal(w.segments.count, keeps || i > 0);
			window_free(&w);
		}
		teardown(&c);
	}
}

static void time_goes_by(void **state)
{
	struct scene c;

	(void)state;
	setup(&c, 100);
	c.r.history->span_ns = 10;
	CALL(&c.r, cuMemAlloc_v2, BASE, 2 * MiB);
	c.r.ts_ns += 5;
	CALL(&c.r, cuMemAlloc_v2, BASE + 2 * MiB, 2 * MiB);
	c.r.ts_ns += 5;
	CALL(&c.r, cuMemAlloc_v2, FAR, 2 * MiB);
	assert_string_equal(story(check(&c)), "SaSa");
	assert_int_equal(c.s.dropped, 1);
	assert_int_equal(c.s.segment_count, 3);
	teardown(&c);
}

/* ---- anything ---- */

/* Records that are in the wrong order, cut short, of others: what is made of them is right in itself. */
static void malformed(void **state)
{
	struct {
		union {
			struct gmt_hdr hdr;
			struct gmt_history process;
			struct gmt_history_unseen unseen;
			struct gmt_history_range range;
			struct gmt_history_event event;
		};
	} rec;
	static const uint16_t sizes[] = {
		sizeof(rec.process), sizeof(rec.unseen), sizeof(rec.range), sizeof(rec.event),
	};
	static const uint64_t firsts[] = { 600, 1000000, (1ULL << 62) - 1, 1ULL << 62, UINT64_MAX };
	struct other o;

	(void)state;
	for (seed = 0; seed < 3000; seed++) {
		uint32_t round = seed;

		begin(&o, below(3) ? 1 + below(40) : 1U << below(20));
		for (int i = 0; i < 60; i++) {
			unsigned int kind = i ? below(4) : 0;

			memset(&rec, 0, sizeof(rec));
			rec.hdr = (struct gmt_hdr){
				.kind = GMT_KIND_HISTORY + kind, .size = sizes[kind], .tgid = 100 + !below(8), .ts_ns = i,
			};
			if (kind == 0) {
				rec.process.first = below(3) ? below(100) : firsts[below(5)];
				rec.process.since = below(100);
			} else if (kind == 1) {
				rec.unseen.device = below(4);
				rec.unseen.allocated = below(1000);
				rec.unseen.reserved = below(1000);
			} else {
				rec.event.address = BASE + below(16) * (MiB / 2);
				rec.event.size = below(5) * (MiB / 2);
				rec.event.born = below(100);
				rec.event.kind = below(7);
				rec.event.flags = below(8);
				rec.event.device = below(3) ? 0 : below(256);
			}
			take(&o, &rec, rec.hdr.size);
		}
		for (uint32_t i = 0; i < o.history->process_count; i++) {
			const char *wrong;

			snapshot_free(&o.s);
			snapshot_build(o.history, i, &o.s);
			wrong = viewer_problem(&o.s);
			if (wrong)
				fail_msg("round %u: %s", round, wrong);
		}
		finish(&o);
		seed = round;
	}
}

/* As if most records had been lost: the present is told as it was, a moment before without a contradiction. */
static void nonsense(void **state)
{
	struct other o;
	struct scene c;

	(void)state;
	for (uint32_t round = 0; round < 300; round++) {
		seed = round;
		setup(&c, 20 + below(200));
		c.allocated = c.reserved = GiB;
		for (int i = 0; i < 150; i++)
			one_record(&c);
		if (!c.r.history->process_count) {
			teardown(&c);
			continue;
		}
		assert_same(check(&c), again(&o, &c, c.r.history->next));
		finish(&o);
		again(&o, &c, c.r.history->first + below((uint32_t)(c.r.history->next - c.r.history->first) + 1));
		finish(&o);
		teardown(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_present),
		cmocka_unit_test(a_window_that_has_wrapped),
		cmocka_unit_test(a_moment_before),
		cmocka_unit_test(the_moment_of_a_request),
		cmocka_unit_test(what_was_there_before_tracing),
		cmocka_unit_test(what_blocks_are_for),
		cmocka_unit_test(subjects),
		cmocka_unit_test(other_lives),
		cmocka_unit_test(the_dead_are_forgotten),
		cmocka_unit_test(time_goes_by),
		cmocka_unit_test(malformed),
		cmocka_unit_test(nonsense),
	};

	return cmocka_run_group_tests_name("history_dump", tests, NULL, NULL);
}
