// SPDX-License-Identifier: BSD-2-Clause
/*
 * The lives of all recordings in tests/data: after each record, and at each moment that is handed over, the bytes of what
 * lives are the bytes of the ledger, for each process on each GPU, and those of the framework, for each device.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/xalloc.h"
#include "core/framework/framework_state.h"
#include "core/framework/frameworks.h"
#include "core/ledger/ledger_state.h"
#include "core/lives/life_takers.h"
#include "core/lives/live_table.h"
#include "core/lives/lives.h"
#include "core/pipeline/pipeline.h"
#include "each_recording.h"
#include "records.h"
#include "source/reader.h"

#define BLOCKS 0x4000u       /* in a key, beside the number of a GPU */

/* A change of a sum, or what a sum has to be: changes come first. */
struct item {
	uint64_t change;
	bool is_look;
	uint64_t key;            /* of the sum */
	uint64_t bytes;          /* to be added, modulo 2^64; or to be seen */
};

struct story {
	struct item *items;
	size_t count, looks, lives, moments[LIFE_AT_ITERATION + 1], calls, processes, ends[LIFE_LOST + 1], asked, requests, exits;
	uint64_t last_call;
	struct life_taker taker;
};

static uint64_t key_of(uint32_t process, int gpu, bool is_block)
{
	return (uint64_t)process << 32 | (uint32_t)(gpu + 2) | (is_block ? BLOCKS : 0);
}

static void add_item(struct story *s, struct item item)
{
	s->items = xgrow(s->items, s->count, sizeof(*s->items));
	s->items[s->count++] = item;
}

static void add_life(struct story *s, const struct life *life, uint64_t key)
{
	assert_true(life->process && life->birth.change);
	assert_true((life->end == LIFE_NONE) == !life->death.change);
	assert_true(life->end == LIFE_NONE || life->death.change > life->birth.change);
	s->ends[life->end]++;
	s->lives++;
	add_item(s, (struct item){ life->birth.change, false, key, life->bytes });
	if (life->death.change)
		add_item(s, (struct item){ life->death.change, false, key, -life->bytes });
}

static void take_allocation(void *arg, const struct life *life)
{
	struct story *s = arg;

	assert_true(life->continues || life->call);
	if (life->is_counted)
		add_life(s, life, key_of(life->process, life->gpu, false));
}

static void take_block(void *arg, const struct life *life)
{
	struct story *s = arg;

	s->asked += life->asked != 0;
	add_life(s, life, key_of(life->process, life->ordinal, true));
}

static void take_call(void *arg, const struct life_call *call)
{
	struct story *s = arg;

	assert_int_equal(call->number, s->last_call + 1);
	s->last_call = call->number;
	s->calls++;
}

static void take_moment(void *arg, const struct life_moment *m)
{
	struct story *s = arg;

	s->moments[m->why]++;
	s->looks++;
	add_item(s, (struct item){ m->at.change, true, key_of(m->process, m->gpu, false), m->bytes });
}

static void take_level(void *arg, const struct life_level *level)
{
	(void)arg;
	assert_true(level->process && level->of < LIFE_LEVEL_COUNT);
}

static void take_request(void *arg, uint32_t process, int gpu, uint64_t change, const struct gmt_oom *rec)
{
	struct story *s = arg;

	(void)change;
	(void)gpu;
	assert_true(process && rec->number);
	s->requests++;
}

static void take_process(void *arg, const struct life_process *p)
{
	struct story *s = arg;

	assert_true(p->number && p->comm && p->cmdline);
	s->processes++;
}

static void take_exit(void *arg, uint32_t process)
{
	struct story *s = arg;

	assert_true(process);
	s->exits++;
}

static void look_at(struct story *s, const struct pipeline *pl, const struct process *p)
{
	const struct framework *f = frameworks_of(pl->frameworks, p);
	uint64_t change = lives_change(pl->lives);

	for (unsigned int i = 0; i < p->account.count; i++)
		add_item(s, (struct item){ change, true, key_of(p->index + 1, p->account.rows[i].gpu, false),
					   p->account.rows[i].attributed.live });
	for (unsigned int i = 0; f && i < f->count; i++)
		add_item(s, (struct item){ change, true, key_of(p->index + 1, (int)i, true), f->devices[i].stacks.live });
	s->looks++;
}

static void look_around(struct story *s, const struct pipeline *pl)
{
	const struct processes *all = &pl->ledger->processes;

	for (size_t i = 0; i < all->count; i++)
		if (all->list[i] && !all->list[i]->exited)
			look_at(s, pl, all->list[i]);
}

static int compare_items(const void *left, const void *right)
{
	const struct item *a = left, *b = right;

	if (a->change != b->change)
		return a->change < b->change ? -1 : 1;
	return a->is_look - b->is_look;
}

static void check_sums(struct story *s, const char *path)
{
	struct hash sums;

	hash_init(&sums, sizeof(uint64_t));
	qsort(s->items, s->count, sizeof(*s->items), compare_items);
	for (size_t i = 0; i < s->count; i++) {
		const struct item *item = &s->items[i];
		uint64_t *sum = hash_put(&sums, item->key, NULL);

		if (!item->is_look)
			*sum += item->bytes;
		else if (*sum != item->bytes)
			fail_msg("%s: at change %ju of %jx %ju bytes live, not %ju", path, (uintmax_t)item->change,
				 (uintmax_t)item->key, (uintmax_t)*sum, (uintmax_t)item->bytes);
	}
	hash_fini(&sums);
}

static const struct life_taker takers = {
	.allocation = take_allocation, .block = take_block, .call = take_call, .moment = take_moment, .level = take_level,
	.request = take_request, .process = take_process, .exit = take_exit,
};

static void replay(struct story *s, const char *path)
{
	struct pipeline_options options = { .watches_requests = true };
	const struct gmt_hdr *hdr;
	struct pipeline *pl;
	struct reader *reader;

	s->taker = takers;
	s->taker.arg = s;
	s->count = s->last_call = 0;
	pl = pipeline_new(&options);
	pipeline_tell(pl, &s->taker);
	assert_int_equal(reader_open(&reader, path), 0);
	while ((hdr = reader_next(reader))) {
		pipeline_apply(pl, hdr, hdr->size);
		look_around(s, pl);
	}
	lives_finish(pl->lives);
	check_sums(s, path);
	reader_close(reader);
	pipeline_free(pl);
}

static void replay_one(void *story, const char *path)
{
	replay(story, path);
}

static void every_recording(void **state)
{
	struct story s = { 0 };

	(void)state;
	each_recording(replay_one, &s);
	print_message("%zu lives, %zu looks, %zu calls, %zu processes, %zu asked, %zu requests\n", s.lives, s.looks, s.calls,
		      s.processes, s.asked, s.requests);
	assert_true(s.lives > 1000 && s.looks > 1000 && s.calls > 1000 && s.processes > 10 && s.asked && s.requests);
	assert_true(s.exits > 10 && s.ends[LIFE_EXIT]);
	for (unsigned int i = 0; i <= LIFE_AT_ITERATION; i++)
		print_message("moment %u: %zu\n", i, s.moments[i]);
	for (unsigned int i = 0; i <= LIFE_LOST; i++)
		print_message("end %u: %zu\n", i, s.ends[i]);
	free(s.items);
}

/* ---- peaks, and what nobody takes ---- */

#define A 0x7f0000000000ull
#define CHANGES 1000         /* of the second process */

/* The newest peak of each of two processes. */
struct peaks {
	struct life_point of[2];
};

static void take_peak(void *arg, const struct life_moment *moment, bool is_of_blocks)
{
	struct peaks *peaks = arg;

	assert_false(is_of_blocks);
	peaks->of[moment->process - 1] = moment->at;
}

/* Where peaks begin anew, the peak of a process is at its own newest change, whatever others do meanwhile. */
static void peaks_at_a_mark(void **state)
{
	struct peaks peaks = { 0 };
	const struct life_taker taker = { .arg = &peaks, .peak = take_peak };
	struct gmt_mark mark = { 0 };
	struct records r;

	(void)state;
	records_scene(&r, API_LAYER);
	pipeline_tell(r.pipeline, &taker);
	CALL(&r, cuMemAlloc_v2, A, MiB);
	r.tgid = r.tid = 200;
	records_attach(&r, true);
	for (uint64_t i = 0; i < CHANGES; i++)
		CALL(&r, cuMemAlloc_v2, A + i * MiB, MiB);
	r.ts_ns += 5000;
	records_apply(&r, &mark, GMT_KIND_MARK, sizeof(mark));
	assert_int_equal(peaks.of[0].own, 1);
	assert_int_equal(peaks.of[1].own, CHANGES);
	assert_true(peaks.of[0].ts_ns == peaks.of[1].ts_ns && peaks.of[0].ts_ns > 5000);
	records_fini(&r);
}

static void what_nobody_takes(void **state)
{
	struct story s = { 0 };
	struct life_takers all;
	const struct life_taker some = { .arg = &s, .allocation = take_allocation };
	const struct life_taker calls = { .arg = &s, .call = take_call, .level = take_level };

	(void)state;
	life_takers_init(&all);
	life_takers_add(&all, &some);
	assert_true(!all.all.call && !all.all.level);
	life_takers_add(&all, &calls);
	assert_true(all.all.call && all.all.level);
	all.all.call(all.all.arg, &(struct life_call){ .number = 1 });
	assert_int_equal(s.calls, 1);
}

/* ---- many lives that began at one time ---- */

#define MANY 300000          /* looked at one by one, they would take many minutes */

static void many_at_one_time(void **state)
{
	struct live_table table;
	struct live_key key = { .process = 1, .born_ns = 5, .bytes = MiB };
	uint32_t first = 0;

	(void)state;
	live_table_init(&table);
	for (uint64_t i = 0; i < MANY; i++) {
		key.address = i % 3 ? A + i * MiB : 0;
		live_table_add(&table, &key, &first)->life = (struct life){
			.process = 1, .bytes = MiB, .address = key.address,
		};
	}
	for (uint64_t i = 0; i < MANY; i++) {     /* the oldest first */
		uint32_t index;

		key.address = i % 3 ? A + i * MiB : 0;
		index = live_table_find(&table, &key);
		assert_true(index && live_at(&table, index)->life.address == key.address);
		live_table_remove(&table, index, &first);
	}
	assert_true(!table.count && !first);
	assert_int_equal(live_table_find(&table, &key), 0);
	live_table_fini(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_recording),
		cmocka_unit_test(peaks_at_a_mark),
		cmocka_unit_test(what_nobody_takes),
		cmocka_unit_test(many_at_one_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
