// SPDX-License-Identifier: BSD-2-Clause
/* Findings: each rule speaks from its threshold on, and is silent below. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "views.h"

#include "core/view/finding.h"

static struct fixture f;

/* The only finding of this kind, or NULL. */
static const struct finding *find(enum finding_kind kind)
{
	static struct finding found;
	size_t count, seen = 0;
	struct finding *list = findings_make(&f.view, &count);

	for (size_t i = 0; i < count; i++) {
		if (i)
			assert_true(list[i - 1].kind <= list[i].kind);
		if (list[i].kind != kind)
			continue;
		found = list[i];
		seen++;
	}
	free(list);
	assert_true(seen <= 1);
	return seen ? &found : NULL;
}

static void assert_silent(void)
{
	size_t count;
	struct finding *list = findings_make(&f.view, &count);

	assert_int_equal(count, 0);
	free(list);
}

static void ordinary_programs_have_none(void **state)
{
	(void)state;
	typical(&f);
	assert_silent();
	stacked(&f);
	assert_silent();
}

/* Tensors that outlive their iteration, at two lines; without_stacks: nobody knows the lines. */
static struct view_training *training(bool without_stacks)
{
	struct view_torch *t;

	stacked(&f);
	t = &f.rows[0].torch;
	t->training.is_training = true;
	t->training.categories[GMT_CATEGORY_KEPT].late = 20 * MIB;
	if (without_stacks)
		return &t->training;
	t->stacks = f.rows[0].stacks;
	memset(&f.rows[0].stacks, 0, sizeof(f.rows[0].stacks));
	for (size_t i = 0; i < t->stacks.lines[VIEW_BY_GROWN].count; i++) {
		struct view_line_row *row = &t->stacks.lines[VIEW_BY_GROWN].rows[i];

		row->by_category[GMT_CATEGORY_KEPT] = row->state == VIEW_LINE_NOT_OWN ? 30 * MIB : 90 * MIB;
		row->by_category[GMT_CATEGORY_GRADIENT] = row->state == VIEW_LINE_NOT_OWN ? 70 * MIB : 0;
	}
	return &t->training;
}

static void a_leak_needs_iterations_and_bytes(void **state)
{
	struct view_training *t = training(false);
	const struct finding *found;

	(void)state;
	t->growth = (struct view_growth){ .bytes = 4 * MIB, .count = 4, .iterations = 4 };
	assert_null(find(FINDING_OF_LEAK));
	t->growth.count = t->growth.iterations = 5;
	t->categories[GMT_CATEGORY_KEPT].live = 200 * MIB;
	found = find(FINDING_OF_LEAK);
	assert_non_null(found);
	assert_int_equal(found->bytes, 4 * MIB);
	assert_int_equal(found->count, 5);
	assert_int_equal(found->part, 200 * MIB);
	assert_int_equal(found->left, (78559 + 600) / 4); /* the GPU's free bytes, and the cached ones */
	assert_true(found->left_ns == FINDING_LEFT_UNKNOWN && !found->stopped_ns);
	assert_non_null(found->line);
	assert_int_equal(found->line->state, VIEW_LINE_NOT_OWN); /* lines without names are no answer */
	assert_null(find(FINDING_OF_KEPT)); /* one answer is enough */
	t->growth.bytes = 2 * MIB; /* 10 MiB of 1500 in all */
	assert_null(find(FINDING_OF_LEAK));
	t->growth.bytes = 4 * MIB;
	t->growth.time_ns = 10 * S;
	t->growth.end_ns = f.view.now_ns - 30 * S;     /* 15 iterations may be a pause */
	found = find(FINDING_OF_LEAK);
	assert_int_equal(found->left_ns / S, (78559 + 600) * 2 / 4);
	assert_int_equal(found->stopped_ns, 0);
	t->growth.end_ns = f.view.now_ns - 40 * S;
	found = find(FINDING_OF_LEAK);
	assert_int_equal(found->stopped_ns, t->growth.end_ns);
	assert_true(found->left == FINDING_LEFT_UNKNOWN && found->left_ns == FINDING_LEFT_UNKNOWN);
	t->growth.end_ns = f.view.now_ns - S;
	f.procs[0].exited = true;
	assert_int_equal(find(FINDING_OF_LEAK)->stopped_ns, t->growth.end_ns);
	assert_true(find(FINDING_OF_LEAK)->left == FINDING_LEFT_UNKNOWN);
	training(true)->growth = (struct view_growth){ .bytes = 4 * MIB, .count = 5, .iterations = 5 };
	assert_null(find(FINDING_OF_LEAK)->line);
}

/* Some iterations leave something: the time left is that of all iterations. */
static void a_leak_may_come_now_and_then(void **state)
{
	struct view_training *t = training(false);
	const struct finding *found;

	(void)state;
	t->growth = (struct view_growth){
		.bytes = 4 * MIB, .count = 5, .iterations = 100, .time_ns = 50 * S, .end_ns = f.view.now_ns - S,
	};
	t->categories[GMT_CATEGORY_KEPT].late = 9 * MIB; /* of 20: other tensors have taken the place of those that are gone */
	assert_null(find(FINDING_OF_LEAK));
	t->categories[GMT_CATEGORY_KEPT].late = 11 * MIB;
	found = find(FINDING_OF_LEAK);
	assert_non_null(found);
	assert_int_equal(found->bytes, 4 * MIB);
	assert_int_equal(found->count, 5);
	assert_int_equal(found->iterations, 100);
	assert_int_equal(found->left, (78559 + 600) * 100 / 20);
	assert_int_equal(found->left_ns / S, (78559 + 600) * 50 / 20);
	t->growth.end_ns = f.view.now_ns - 11 * S; /* 22 iterations */
	assert_int_equal(find(FINDING_OF_LEAK)->stopped_ns, t->growth.end_ns);
}

/* Inputs become larger and larger, but nothing stays for longer than until the next iteration. */
static void larger_inputs_are_no_leak(void **state)
{
	struct view_training *t = training(false);

	(void)state;
	t->growth = (struct view_growth){ .bytes = 4 * MIB, .count = 30, .iterations = 30 };
	t->categories[GMT_CATEGORY_ACTIVATION].live = 500 * MIB;
	assert_null(find(FINDING_OF_LEAK));
	t->categories[GMT_CATEGORY_KEPT].late = 59 * MIB;
	assert_null(find(FINDING_OF_LEAK));
	t->categories[GMT_CATEGORY_KEPT].late = 61 * MIB;
	assert_non_null(find(FINDING_OF_LEAK));
}

/* Gradients with their graphs, or the state of old optimizers: the line is that of what stays. */
static void a_leak_may_be_of_gradients_or_state(void **state)
{
	struct view_training *t = training(false);
	const struct finding *found;

	(void)state;
	t->growth = (struct view_growth){ .bytes = 4 * MIB, .count = 5, .iterations = 5 };
	t->categories[GMT_CATEGORY_KEPT].late = MIB;
	t->categories[GMT_CATEGORY_GRADIENT] = (struct view_category){ .live = 900 * MIB, .late = 10 * MIB };
	found = find(FINDING_OF_LEAK);
	assert_int_equal(found->category, GMT_CATEGORY_GRADIENT);
	assert_int_equal(found->part, 900 * MIB);
	assert_int_equal(view_line_part(found->line, found->category), 70 * MIB);
	t->categories[GMT_CATEGORY_OPTIMIZER_STATE] = (struct view_category){ .live = 800 * MIB, .late = 11 * MIB };
	assert_int_equal(find(FINDING_OF_LEAK)->category, GMT_CATEGORY_OPTIMIZER_STATE);
}

static void what_is_kept_is_told(void **state)
{
	struct view_training *t = training(false);

	(void)state;
	t->categories[GMT_CATEGORY_KEPT].live = t->categories[GMT_CATEGORY_KEPT].late = 109 * MIB;
	assert_silent();
	t->categories[GMT_CATEGORY_KEPT].live = 111 * MIB; /* of 1100 allocated */
	assert_silent();        /* nearly all since the start-up */
	t->categories[GMT_CATEGORY_KEPT].late = 111 * MIB;
	assert_int_equal(find(FINDING_OF_KEPT)->bytes, 111 * MIB);
	assert_non_null(find(FINDING_OF_KEPT)->line);
	t->growth = (struct view_growth){ .bytes = 4 * MIB, .count = 3, .iterations = 3 };    /* nobody knows yet whether this is a leak */
	assert_silent();
	/* too little for a leak, in some iterations or in each */
	for (uint32_t each = 0; each < 2; each++) {
		t->growth = (struct view_growth){ .bytes = 512, .count = 5, .iterations = each ? 5 : 50 };
		assert_int_equal(find(FINDING_OF_KEPT)->bytes, 111 * MIB);
	}
	t->growth.count = t->growth.iterations = 0;
	t->is_training = false;
	assert_silent();
}

static void optimizers_state_is_compared_with_parameters(void **state)
{
	struct view_training *t = training(false);

	(void)state;
	t->first_is_whole = true;
	t->categories[GMT_CATEGORY_PARAMETER].live = 100 * MIB;
	t->categories[GMT_CATEGORY_OPTIMIZER_STATE].live = 300 * MIB;
	assert_silent();
	t->categories[GMT_CATEGORY_OPTIMIZER_STATE].live = 400 * MIB;
	assert_int_equal(find(FINDING_OF_STATE)->bytes, 400 * MIB);
	assert_int_equal(find(FINDING_OF_STATE)->part, 100 * MIB);
	t->before = MIB;        /* parameters, perhaps */
	assert_silent();
	t->before = 0;
	t->first_is_whole = false;
	assert_silent();
}

/* A program frees its memory before it ends: the peak counts. */
static void the_ended_are_judged_at_the_peak(void **state)
{
	struct view_training *t = training(false);
	struct view_line_row *row = &f.rows[0].torch.stacks.lines[VIEW_BY_PEAK].rows[0];

	(void)state;
	t->categories[GMT_CATEGORY_KEPT].at_peak = f.rows[0].torch.allocated.peak / 2;
	assert_silent();
	f.procs[0].exited = true;
	t->categories[GMT_CATEGORY_KEPT].late_at_peak = 200 * MIB;
	assert_int_equal(find(FINDING_OF_KEPT)->bytes, 200 * MIB);
	row->state = VIEW_LINE_OWN;
	row->has_ended = true;
	row->at_peak[GMT_CATEGORY_KEPT] = 200 * MIB;
	assert_ptr_equal(find(FINDING_OF_KEPT)->line, row);
}

/* What has come in the first half stays. */
static void set_halves(struct view_held *held, int64_t later)
{
	held->rise_later = later;
	held->least_rise = held->rise - later;
}

static void growth_has_to_be_steady(void **state)
{
	struct view_stacks *s = &f.rows[0].stacks;
	struct view_line_row *row, other;
	size_t grown_count;

	(void)state;
	stacked(&f);
	grown_count = s->lines[VIEW_BY_GROWN].count;
	s->rise.later_ns = s->since_ns + 20 * S;
	row = &s->lines[VIEW_BY_GROWN].rows[1]; /* 100 MiB more, of 200 */
	assert_int_equal(row->held.grown, 100 * MIB);
	assert_silent();
	set_halves(&row->held, 40 * MIB);
	assert_int_equal(find(FINDING_OF_GROWTH)->bytes, 100 * MIB);
	assert_ptr_equal(find(FINDING_OF_GROWTH)->line, row);
	/* 100 MiB in the time since then; what is free, and what PyTorch has cached */
	assert_int_equal(find(FINDING_OF_GROWTH)->left_ns / S,
			 (f.gpus[0].free_bytes / MIB + 600) * (f.view.now_ns - s->since_ns) / 100 / S);
	other = s->lines[VIEW_BY_PEAK].rows[3];
	s->lines[VIEW_BY_PEAK].rows[3] = *row;
	s->lines[VIEW_BY_GROWN].count = 0; /* freed before the end */
	f.procs[0].exited = true;
	f.procs[0].exit_ts_ns = f.view.now_ns;
	assert_true(find(FINDING_OF_GROWTH)->left_ns == FINDING_LEFT_UNKNOWN);
	assert_int_equal(find(FINDING_OF_GROWTH)->stopped_ns, s->rise.until_ns);
	s->live = 0;
	assert_int_equal(find(FINDING_OF_GROWTH)->bytes, 100 * MIB);
	f.procs[0].exited = false;
	s->lines[VIEW_BY_PEAK].rows[3] = other;
	s->lines[VIEW_BY_GROWN].count = grown_count;
	f.rows[0].torch.training.is_training = true; /* what comes and goes in each iteration is no growth */
	assert_silent();
	row->by_category[GMT_CATEGORY_KEPT] = 100 * MIB;
	assert_non_null(find(FINDING_OF_GROWTH));
	f.rows[0].torch.training.is_training = false;
	set_halves(&row->held, 100 * MIB); /* in the second half alone */
	assert_silent();
	set_halves(&row->held, 40 * MIB);
	row->held.least_rise = 0;        /* comes and goes, and is more at this moment */
	assert_silent();
	set_halves(&row->held, 40 * MIB);
	row->held.then = 0;              /* nothing was there before */
	assert_silent();
	row->held.then = 100 * MIB;
	set_halves(&row->held, 99 * MIB); /* nearly all may go again at once */
	assert_silent();
	set_halves(&row->held, 40 * MIB);
	row->state = VIEW_LINE_RESERVE;
	assert_non_null(find(FINDING_OF_GROWTH));
	row->held.rise = 63 * MIB;      /* a few segments */
	set_halves(&row->held, 20 * MIB);
	f.procs[0].window_ns = s->since_ns;
	assert_silent();
	row->state = VIEW_LINE_NOT_OWN;
	assert_non_null(find(FINDING_OF_GROWTH));
	f.procs[0].window_ns = f.procs[0].attach_ts_ns;
}

/* A program's first kernels, graphs and streams come in its first minute. */
static void growth_of_the_driver_needs_a_minute(void **state)
{
	struct view_stacks *s = &f.rows[0].stacks;
	struct view_line_row *row;

	(void)state;
	stacked(&f);
	row = &s->lines[VIEW_BY_GROWN].rows[1];
	set_halves(&row->held, 40 * MIB);
	row->state = VIEW_LINE_DRIVER;
	s->rise.since_ns = s->rise.until_ns - 59 * S;
	s->rise.later_ns = s->rise.until_ns - 30 * S;
	assert_silent();
	s->rise.since_ns = s->rise.until_ns - 60 * S;
	assert_ptr_equal(find(FINDING_OF_GROWTH)->line, row);
}

static void growth_needs_time(void **state)
{
	struct view_stacks *s = &f.rows[0].stacks;

	(void)state;
	stacked(&f);
	set_halves(&s->lines[VIEW_BY_GROWN].rows[1].held, 40 * MIB);
	s->rise.later_ns = s->since_ns + S;   /* the program has hardly begun */
	assert_silent();
	s->rise.later_ns = s->rise.until_ns - S / 2 + 1; /* the second half has hardly begun */
	assert_silent();
	s->rise.later_ns = s->rise.until_ns - S / 2;
	assert_non_null(find(FINDING_OF_GROWTH));
}

/* Where another part of the time begins to count, less has come since, at the same rate. */
static void even_growth_goes_on_showing(void **state)
{
	struct view_stacks *s = &f.rows[0].stacks;
	struct view_held *held;
	bool was_found = false;

	(void)state;
	stacked(&f);
	f.procs[0].window_ns = f.procs[0].attach_ts_ns;
	held = &s->lines[VIEW_BY_GROWN].rows[1].held;
	for (uint64_t now = 5 * S; now < 3000 * S; now += S / 2) {
		uint64_t later = 2 * S;

		while (now >= 2 * later + later / 2)
			later *= 2;
		f.view.now_ns = s->rise.until_ns = f.procs[0].attach_ts_ns + now;
		s->rise.later_ns = f.procs[0].attach_ts_ns + later;
		s->since_ns = f.procs[0].attach_ts_ns + later / 2;
		s->live = held->live = now / S * MIB / 100 + MIB;
		held->grown = held->rise = (int64_t)((now - later / 2) / (S / 1000) * MIB / 100000);
		set_halves(held, (int64_t)((now - later) / (S / 1000) * MIB / 100000));
		assert_true(find(FINDING_OF_GROWTH) || !was_found);
		was_found |= find(FINDING_OF_GROWTH) != NULL;
	}
	assert_true(was_found);
}

static void neighbours_count_on_a_full_gpu(void **state)
{
	(void)state;
	typical(&f);
	f.view.proc_count = 2;
	set_proc(&f.procs[1], 5000, "other", "other");
	f.procs[1].rows = &f.rows[2];
	f.procs[1].row_count = 1;
	f.rows[2] = (struct view_row){ .gpu = 0, .attributed = level_of(70 * GIB, 70 * GIB, 5) };
	assert_silent();
	f.gpus[0].free_bytes = 8 * GIB; /* of 80: more than a tenth */
	assert_silent();
	f.gpus[0].free_bytes = 7 * GIB;
	assert_int_equal(find(FINDING_OF_NEIGHBOUR)->proc, 0);
	assert_int_equal(find(FINDING_OF_NEIGHBOUR)->other, 1);
	assert_int_equal(find(FINDING_OF_NEIGHBOUR)->bytes, 70 * GIB);
	f.procs[1].exited = true;
	assert_silent();
}

static void untraced_processes_are_told(void **state)
{
	(void)state;
	typical(&f);
	f.gpus[1].processes_bytes = f.rows[1].nvml + 7 * GIB;
	assert_silent();
	f.gpus[1].processes_bytes = f.rows[1].nvml + 8 * GIB;
	assert_int_equal(find(FINDING_OF_UNTRACED)->bytes, 8 * GIB);
	assert_int_equal(find(FINDING_OF_UNTRACED)->gpu, 1);
	assert_true(find(FINDING_OF_UNTRACED)->proc == FINDING_NONE);
}

static void caches_are_told(void **state)
{
	struct view_torch *t = &f.rows[0].torch;

	(void)state;
	typical(&f); /* 600 MiB of 1700 are cached, in pieces of 96 at most */
	assert_silent(); /* which does no harm until memory runs out */
	f.procs[0].ooms[GMT_OOM_RETRY] = f.procs[0].host_ooms[GMT_OOM_RETRY] = 1;
	assert_silent(); /* the pieces are of no GPU that was full */
	f.procs[0].host_ooms[GMT_OOM_RETRY] = 0;
	assert_int_equal(find(FINDING_OF_FRAGMENTED)->bytes, 600 * MIB);
	assert_int_equal(find(FINDING_OF_FRAGMENTED)->part, 96 * MIB);
	f.procs[0].exited = true;
	assert_silent();
	f.procs[0].exited = false;
	t->gap_known = false;
	assert_silent();
	t->gap_known = true;
	t->largest_free_gap = 160 * MIB;
	assert_silent();
	t->reserved.live = 4000 * MIB;
	t->largest_free_gap = 2000 * MIB;
	assert_int_equal(find(FINDING_OF_CACHED)->bytes, 2900 * MIB);
	assert_int_equal(find(FINDING_OF_CACHED)->part, 4000 * MIB);
	t->recent_known = false;
	assert_silent();
	t->recent_known = true;
	t->allocated.live = 0; /* for a moment */
	assert_int_equal(find(FINDING_OF_CACHED)->bytes, 2900 * MIB);
	t->recent_peak = 2100 * MIB;
	assert_silent();
}

static void cache_of_an_ended_process_is_told(void **state)
{
	struct view_torch *t = &f.rows[0].torch;

	(void)state;
	typical(&f);
	f.procs[0].exited = true;
	t->reserved.peak = 4000 * MIB;
	t->allocated.peak = 1900 * MIB;
	assert_int_equal(find(FINDING_OF_CACHED)->bytes, 2100 * MIB);
	assert_int_equal(find(FINDING_OF_CACHED)->part, 4000 * MIB);
	t->allocated.peak = 2100 * MIB;
	assert_silent();
	t->allocated.peak = 1900 * MIB;
	f.rows[0].before_attach = MIB; /* nobody saw what tensors had used then */
	assert_silent();
	f.rows[0].before_attach = 0;
	f.procs[0].exited = false;
	assert_silent();
}

static void unusual_memory_of_cuda_is_told(void **state)
{
	struct view_row *row = &f.rows[0];

	(void)state;
	typical(&f);
	row->context = 1023 * MIB;
	assert_silent();
	row->context = 1024 * MIB;
	assert_int_equal(find(FINDING_OF_CONTEXT)->bytes, GIB);
	row->context = 400 * MIB;
	row->other = 2047 * MIB;
	row->pool_reserve = 500 * MIB;
	assert_silent();
	row->other = 2048 * MIB;
	assert_int_equal(find(FINDING_OF_LAUNCHES)->bytes, 2048 * MIB);
	row->other = 0;
	row->pool_reserve = 600 * MIB; /* of 2345 */
	assert_int_equal(find(FINDING_OF_POOL_RESERVE)->bytes, 600 * MIB);
	row->pool_reserve = 0;
	row->before_attach = 1100 * MIB;
	assert_silent();
	row->before_attach = 1200 * MIB;
	assert_int_equal(find(FINDING_OF_BEFORE_ATTACH)->bytes, 1200 * MIB);
	f.procs[0].ooms[GMT_OOM_RETRY] = 3;
	assert_null(find(FINDING_OF_OUT_OF_MEMORY));
	f.procs[0].ooms[GMT_OOM_RAISED] = 2;
	assert_int_equal(find(FINDING_OF_OUT_OF_MEMORY)->count, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ordinary_programs_have_none),
		cmocka_unit_test(a_leak_needs_iterations_and_bytes), cmocka_unit_test(a_leak_may_come_now_and_then),
		cmocka_unit_test(larger_inputs_are_no_leak),
		cmocka_unit_test(a_leak_may_be_of_gradients_or_state),
		cmocka_unit_test(what_is_kept_is_told),
		cmocka_unit_test(optimizers_state_is_compared_with_parameters),
		cmocka_unit_test(the_ended_are_judged_at_the_peak),
		cmocka_unit_test(growth_has_to_be_steady),
		cmocka_unit_test(growth_of_the_driver_needs_a_minute),
		cmocka_unit_test(growth_needs_time),
		cmocka_unit_test(even_growth_goes_on_showing),
		cmocka_unit_test(neighbours_count_on_a_full_gpu),
		cmocka_unit_test(untraced_processes_are_told),
		cmocka_unit_test(caches_are_told),
		cmocka_unit_test(cache_of_an_ended_process_is_told),
		cmocka_unit_test(unusual_memory_of_cuda_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
