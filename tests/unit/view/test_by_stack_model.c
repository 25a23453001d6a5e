// SPDX-License-Identifier: BSD-2-Clause
/* Memory by stack, from records to the view: many random records beside a model that keeps everything. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "by_letter.h"

#define A 0x7f0000000000ull

#define IDS 31           /* 0: none; 1 to 10 and 11 to 20 read alike in pairs; the rest is not named */
#define NAMES 12         /* 0: none; 1 to 10; 11: not named */
#define DOMAINS 4        /* two GPUs, the unknown one, the host */
#define ITEMS 400
#define UNKNOWN 2
#define HOST 3

struct domain {
	uint64_t live[NAMES], at_peak[NAMES], total, peak, allocs;
};

struct item {
	uint64_t handle, bytes, ts_ns;
	uint32_t id, domain;
	uint32_t object;         /* of the kernel's */
	bool is_alive, is_late;  /* late: of the ordinal that is learned later */
};

struct model {
	struct domain domains[DOMAINS];
	struct item items[ITEMS];
	uint32_t count;
	bool late_known;
};

static uint32_t random_below(uint32_t *seed, uint32_t n)
{
	*seed = *seed * 1664525 + 1013904223;
	return (uint32_t)(((uint64_t)*seed * n) >> 32);
}

static uint32_t name_of(uint32_t id)
{
	return !id ? 0 : id > 20 ? 11 : (id - 1) % 10 + 1;
}

static void raise(struct domain *d, const struct item *item)
{
	d->live[name_of(item->id)] += item->bytes;
	d->total += item->bytes;
	if (d->total <= d->peak)
		return;
	d->peak = d->total;
	memcpy(d->at_peak, d->live, sizeof(d->live));
}

static void lower(struct domain *d, const struct item *item)
{
	d->live[name_of(item->id)] -= item->bytes;
	d->total -= item->bytes;
}

static void model_add(struct model *m, struct records *r, uint32_t *seed)
{
	struct item *item = &m->items[m->count++];
	uint32_t what = random_below(seed, 10), gpu = random_below(seed, 2);

	*item = (struct item){
		.handle = A + m->count * 16384,
		.bytes = 1 + random_below(seed, 10000),
		.id = random_below(seed, IDS),
		.is_alive = true,
	};
	r->stack_id = item->id;
	item->ts_ns = r->ts_ns;
	if (what == 0) {
		item->domain = HOST;
		CALL(r, cuMemHostAlloc, item->handle, item->bytes, 0);
	} else if (what == 1) {
		item->domain = gpu;
		r->cause = random_below(seed, 2) ? GMT_API_cuCtxCreate_v2 : GMT_API_cuModuleLoad;
		item->object = records_rm_memory(r, gpu, item->bytes);
		r->cause = 0;
		r->seq++; /* its call is over */
	} else if (what == 2) {
		item->is_late = true;
		item->domain = m->late_known ? 0 : UNKNOWN;
		CALL(r, cuMemCreate, item->handle, item->bytes, 1, 2, 0);
	} else {
		item->domain = gpu;
		CALL(r, cuMemCreate, item->handle, item->bytes, 1, 1 - gpu, 0);
	}
	r->stack_id = 0;
	m->domains[item->domain].allocs++;
	raise(&m->domains[item->domain], item);
}

static void model_remove(struct model *m, struct records *r, struct item *item, bool fails)
{
	uint32_t seq;

	lower(&m->domains[item->domain], item);
	item->is_alive = false;
	r->stack_id = 30; /* who frees does not matter */
	if (item->object) {
		records_rm_free(r, item->object);
	} else if (item->domain == HOST) {
		seq = RELEASE(r, cuMemFreeHost, item->handle);
		if (fails)
			UNDO(r, cuMemFreeHost, seq, 700, item->handle);
	} else {
		seq = RELEASE(r, cuMemRelease, item->handle);
		if (fails)
			UNDO(r, cuMemRelease, seq, 700, item->handle);
	}
	r->stack_id = 0;
	if (!fails || item->object)
		return;
	item->is_alive = true;
	raise(&m->domains[item->domain], item);
}

/* Ordinal 2 is the GPU with index 0: what lives there moves, what is gone was never known to. */
static void model_learn(struct model *m, struct records *r)
{
	struct domain *unknown = &m->domains[UNKNOWN];

	m->late_known = true;
	records_device(r, 2, 0);
	for (uint32_t i = 0; i < m->count; i++) {
		struct item *item = &m->items[i];

		if (!item->is_alive || item->domain != UNKNOWN)
			continue;
		lower(unknown, item);
		unknown->allocs--;
		item->domain = 0;
		m->domains[0].allocs++;
		raise(&m->domains[0], item);
	}
	if (!unknown->allocs)
		*unknown = (struct domain){ 0 };
}

static void compare_domain(const struct view *view, const struct model *m, uint32_t domain, uint64_t before_ns)
{
	static const int gpus[DOMAINS] = { 0, 1, NO_GPU, ANY_GPU };
	const struct domain *d = &m->domains[domain];
	const struct view_stacks *s = stacks_of(view, gpus[domain]);
	uint64_t owned = 0, owned_at_peak = 0;

	if (!s) {
		assert_true(!d->total);
		return;
	}
	assert_true(s->live == d->total && s->peak == d->peak);
	for (size_t i = 0; i < s->owner_count; i++) {
		owned += s->owners[i].held.live;
		owned_at_peak += s->owners[i].held.at_peak;
	}
	assert_true(owned == s->live && owned_at_peak == s->peak);
	for (uint32_t name = 0; name < NAMES; name++) {
		char function[8] = { 'a' + name % 2, '0' + name / 10, '0' + name % 10 };
		const char *text = name == 0 ? "" : name == 11 ? NULL : function;
		uint64_t old = 0, count = 0, oldest = 0;

		for (uint32_t i = 0; i < m->count; i++) {
			const struct item *item = &m->items[i];

			if (!item->is_alive || item->domain != domain || name_of(item->id) != name)
				continue;
			count++;
			old += item->ts_ns < before_ns ? item->bytes : 0;
			oldest = !oldest || item->ts_ns < oldest ? item->ts_ns : oldest;
		}
		assert_true(held_by(view, s, VIEW_BY_LIVE, text).live == d->live[name]);
		assert_true(held_by(view, s, VIEW_BY_PEAK, text).at_peak == d->at_peak[name]);
		assert_true(held_by(view, s, VIEW_BY_OLD, text).old_bytes == old);
		assert_true(held_by(view, s, VIEW_BY_LIVE, text).live_count == count);
		assert_true(held_by(view, s, VIEW_BY_LIVE, text).oldest_ts_ns == oldest);
	}
}

static void compare(const struct records *r, const struct model *m)
{
	struct view view = look(r);
	uint64_t now_ns = view.procs[0].exited ? view.procs[0].exit_ts_ns : view.now_ns;

	for (uint32_t domain = 0; domain < DOMAINS; domain++)
		compare_domain(&view, m, domain, now_ns > 60 * S ? now_ns - 60 * S : 0);
	for (size_t i = 0; i < view.procs[0].row_count; i++) {
		const struct view_row *row = &view.procs[0].rows[i];

		uint64_t sum = row->attributed.live;

		for (int p = 0; p < GMT_PURPOSE_COUNT; p++) /* the kernel was only told of these */
			sum += row->by_purpose[p];
		assert_true(row->stacks.live == sum);
	}
	assert_int_equal(view.records_malformed, 0);
	view_free(&view);
}

static void model_exec(struct model *m, struct records *r)
{
	records_exec(r);
	m->count = 0;
	m->late_known = false;
	for (uint32_t i = 0; i < DOMAINS; i++) {
		memset(m->domains[i].live, 0, sizeof(m->domains[i].live));
		m->domains[i].total = 0;
	}
	/* Another program: what ordinals and devices are it has to learn itself. */
	records_device(r, 0, 1);
	records_device(r, 1, 0);
	records_rm_scene(r);
}

static void random_story(struct records *r, struct model *m, uint32_t seed)
{
	records_rm_scene(r);
	for (uint32_t id = 1; id <= 20; id++) {
		char function[8] = { 'a' + name_of(id) % 2, '0' + name_of(id) / 10, '0' + name_of(id) % 10 };

		records_symbol(r, id, function, "m", "", id <= 10 ? id : 0);
		FRAMES(r, id, name_of(id));
	}
	for (uint32_t step = 0; step < 1200; step++) {
		struct item *item = &m->items[random_below(&seed, m->count)];
		uint32_t what = random_below(&seed, 100);

		r->ts_ns += random_below(&seed, 400) * (S / 1000);
		if (what < 50 && m->count < ITEMS)
			model_add(m, r, &seed);
		else if (what < 97 && m->count && item->is_alive)
			model_remove(m, r, item, what % 4 == 0);
		else if (what == 98 && !m->late_known && random_below(&seed, 3) == 0)
			model_learn(m, r);
		else if (what == 99 && random_below(&seed, 8) == 0)
			model_exec(m, r);
		if (step % 40 == 0)
			compare(r, m);
	}
	compare(r, m);
	records_exit(r, 9);
	r->ts_ns += 100 * S;
	records_gpu(r, 0, 0);
	compare(r, m);
}

static void random_records_beside_a_model(void **state)
{
	struct model *m = calloc(1, sizeof(*m));

	(void)state;
	for (uint32_t seed = 1; seed <= 40; seed++) {
		struct records r;

		records_scene(&r, ALL_LAYERS);
		memset(m, 0, sizeof(*m));
		random_story(&r, m, seed * 77777);
		records_fini(&r);
	}
	free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_records_beside_a_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
