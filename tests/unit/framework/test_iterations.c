// SPDX-License-Identifier: BSD-2-Clause
/* What each iteration of a training adds, by line; and whose line the memory is that autograd's threads allocate. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "core/framework/iteration_marks.h"
#include "core/framework/waiting.h"
#include "core/oom/oom_state.h"
#include "core/terms/frames.h"
#include "core/view/finding.h"
#include "core/view/oom_view.h"
#include "core/view/view.h"
#include "records.h"

#define BASE 0x7f0000000000ull
#define AUTOGRAD 101            /* thread */

enum place { FORWARD = 1, KEEP, BACKWARD, ENGINE, OTHER_BACKWARD, ENGINE_SEGMENT };

struct training {
	struct records r;
	uint64_t allocated, at;
};

/* The line is the outermost frame with a file; a stack without is the framework's. */
static struct view_verdict by_file(void *arg, const struct frames *frames, uint32_t stack)
{
	struct view_verdict verdict = { .owner = 1, .frame = VIEW_NO_FRAME, .line = VIEW_NO_FRAME };
	uint32_t count;
	const uint32_t *list = frames_list(frames, stack, &count);

	(void)arg;
	for (uint32_t i = 0; i < count; i++)
		if (frames->symbols[list[i]].file[0])
			verdict.line = i;
	verdict.is_framework = verdict.line == VIEW_NO_FRAME;
	verdict.owner = verdict.is_framework;
	return verdict;
}

static struct view_owner_names names_of(void *arg, uint32_t owner)
{
	(void)arg;
	return owner ? (struct view_owner_names){ .name = "PyTorch" }
		     : (struct view_owner_names){ .name = "train.py", .allocator = "PyTorch" };
}

static void block(struct training *t, enum place stack, uint64_t ptr, int64_t delta)
{
	t->r.stack_id = stack;
	records_block(&t->r, ptr, delta, t->allocated += delta, GiB);
}

static void range(struct training *t, uint64_t object, enum gmt_range_what what, enum place stack)
{
	struct gmt_fw_range rec = { .object = object, .what = what, .stack_id = stack };

	if (what == GMT_RANGE_BEGIN)
		memcpy(rec.name, "Optimizer.step#SGD.step", sizeof("Optimizer.step#SGD.step"));
	records_apply(&t->r, &rec, GMT_KIND_FW_RANGE, sizeof(rec));
}

/* One iteration: an activation that goes, a loss that is kept, a gradient that replaces the one before. */
static void iterate(struct training *t, enum place backward)
{
	static const uint64_t gradient = BASE, activation = BASE + 16 * MiB;

	block(t, FORWARD, activation, 4 * MiB);
	block(t, KEEP, BASE + 32 * MiB + (t->at += MiB), MiB / 2);
	range(t, 0, GMT_RANGE_BACKWARD, backward);
	t->r.tid = AUTOGRAD;
	block(t, ENGINE, gradient, 2 * MiB);
	block(t, FORWARD, activation, -4 * (int64_t)MiB);
	t->r.tid = t->r.tgid;
	range(t, 1, GMT_RANGE_BEGIN, 0);
	range(t, 1, GMT_RANGE_END, 0);
	t->r.ts_ns += 1000000000;
}

static void drop_gradient(struct training *t)
{
	block(t, ENGINE, BASE, -2 * (int64_t)MiB);
}

static struct training *begin(void)
{
	struct training *t = calloc(1, sizeof(*t));
	struct records *r = &t->r;

	records_scene(r, API_LAYER);
	records_proc(r, 1, "python");
	records_device(r, 0, 1);
	CALL(r, cuDevicePrimaryCtxRetain, 0xc0, 0);
	CALL(r, cuCtxSetCurrent, 0xc0);
	records_symbol(r, 1, "c10::cuda::malloc", "/venv/libc10_cuda.so", "", 0);
	records_symbol(r, 2, "forward", "", "/home/me/train.py", 10);
	records_symbol(r, 3, "keep", "", "/home/me/train.py", 20);
	records_symbol(r, 4, "step", "", "/home/me/train.py", 30);
	records_symbol(r, 5, "torch::autograd::Engine", "/venv/libtorch.so", "", 0);
	records_symbol(r, 6, "step", "", "/home/me/train.py", 40);
	FRAMES(r, FORWARD, 1, 2);
	FRAMES(r, KEEP, 1, 3);
	FRAMES(r, BACKWARD, 5, 4);
	FRAMES(r, ENGINE, 1, 5);
	FRAMES(r, OTHER_BACKWARD, 5, 6);
	records_symbol(r, 7, "cudaMalloc", "/venv/libcudart.so", "", 0);
	FRAMES(r, ENGINE_SEGMENT, 7, 1, 5);
	CALL(r, cuMemAlloc_v2, BASE, GiB);
	return t;
}

static void end(struct training *t)
{
	records_fini(&t->r);
	free(t);
}

static void look(const struct training *t, struct view *view)
{
	const struct view_request request = { .decide = by_file, .owner_names = names_of, .owner_count = 2, .top = 10 };

	view_build(t->r.pipeline, &request, view);
}

static const struct view_stacks *blocks_of_process(const struct view *view, size_t process)
{
	for (size_t i = 0; i < view->procs[process].row_count; i++)
		if (view->procs[process].rows[i].torch.seen)
			return &view->procs[process].rows[i].torch.stacks;
	return NULL;
}

static const struct view_stacks *blocks_of(const struct view *view)
{
	return blocks_of_process(view, 0);
}

/* The line of train.py among those with live memory; 0: the framework's code alone. */
static const struct view_line_row *line_at(const struct view *view, uint32_t number)
{
	const struct view_lines *lines = &blocks_of(view)->lines[VIEW_BY_LIVE];

	for (size_t i = 0; i < lines->count; i++)
		if (number ? lines->rows[i].state == VIEW_LINE_OWN && view->symbols[lines->rows[i].symbol].line == number
			   : lines->rows[i].state == VIEW_LINE_NOT_OWN)
			return &lines->rows[i];
	return NULL;
}

static const struct view_category *categories_of(const struct view *view)
{
	for (size_t i = 0; i < view->procs[0].row_count; i++)
		if (view->procs[0].rows[i].torch.seen)
			return view->procs[0].rows[i].torch.training.categories;
	return NULL;
}

/* What the categories hold, and have grown, is what the owners hold. */
static void categories_are_the_blocks(const struct view *view)
{
	const struct view_stacks *s = blocks_of(view);
	const struct view_category *c = categories_of(view);
	struct view_held owners = { 0 }, categories = { 0 };

	for (size_t i = 0; i < s->owner_count; i++) {
		owners.live += s->owners[i].held.live;
		owners.grown += s->owners[i].held.grown;
		owners.each += s->owners[i].held.each;
	}
	for (int i = 0; i < GMT_CATEGORY_COUNT; i++) {
		categories.live += c[i].live;
		categories.grown += c[i].grown;
		categories.each += c[i].each;
	}
	assert_int_equal(categories.live, owners.live);
	assert_int_equal(categories.grown, owners.grown);
	assert_int_equal(categories.each, owners.each);
}

/* Only what is kept counts, and exactly that; also after many iterations. */
static void each_iteration(void **state)
{
	struct training *t = begin();
	const struct view_stacks *s;
	struct view view;

	(void)state;
	for (int i = 1; i <= 200; i++) {
		iterate(t, BACKWARD);
		if (i == 2 || i == 5 || i == 40 || i == 200) {
			look(t, &view);
			s = blocks_of(&view);
			assert_int_equal(s->iterations, i == 2 ? 0 : i == 5 ? 3 : i == 40 ? 38 : 200 - 2 - 5 * 32);
			assert_int_equal(view_each(s, &line_at(&view, 20)->held), i == 2 ? 0 : MiB / 2);
			assert_int_equal(view_each(s, &line_at(&view, 30)->held), 0);
			categories_are_the_blocks(&view);
			view_free(&view);
		}
		drop_gradient(t);
	}
	end(t);
}

/* The loss of the last iteration looks like an output still. */
static void each_iteration_by_use(void **state)
{
	const struct view_category *c;
	struct training *t = begin();
	struct view view;

	(void)state;
	for (int i = 1; i <= 40; i++, drop_gradient(t))
		iterate(t, BACKWARD);
	look(t, &view);
	c = categories_of(&view);
	assert_int_equal(blocks_of(&view)->iterations, 38);
	assert_int_equal(c[GMT_CATEGORY_KEPT].each, 37 * MiB / 2);
	assert_int_equal(c[GMT_CATEGORY_INPUT].each, MiB / 2);
	assert_int_equal(c[GMT_CATEGORY_KEPT].grown, 23 * MiB / 2);   /* since 16 s after the attach */
	assert_int_equal(c[GMT_CATEGORY_GRADIENT].each, 0);
	assert_int_equal(c[GMT_CATEGORY_GRADIENT].grown, -2 * (int64_t)MiB);
	assert_int_equal(c[GMT_CATEGORY_ACTIVATION].each, 0);
	assert_int_equal(c[GMT_CATEGORY_ACTIVATION].grown, 0);
	categories_are_the_blocks(&view);
	view_free(&view);
	end(t);
}

static const struct finding *found(const struct view *view, enum finding_kind kind)
{
	for (size_t i = 0; i < view->finding_count; i++)
		if (view->findings[i].kind == kind)
			return &view->findings[i];
	return NULL;
}

static uint32_t line_of(const struct view *view, const struct finding *f)
{
	return f->line && f->line->state == VIEW_LINE_OWN ? view->symbols[f->line->symbol].line : 0;
}

/* A picture that is asked for has the finding of the report at this moment; that of a failed request has a verdict. */
static void same_in_a_picture(const struct training *t, enum finding_kind kind, enum gmt_oom_outcome outcome)
{
	const struct view_request request = { .decide = by_file, .owner_names = names_of, .owner_count = 2, .top = 10 };
	struct oom *oom = ooms_picture(t->r.ooms);
	const struct finding *in_report, *in_picture;
	struct oom_view picture;
	struct view report;

	look(t, &report);
	oom->rec.outcome = outcome;
	oom_view_build(t->r.pipeline, oom, &request, &picture);
	in_report = found(&report, kind);
	in_picture = found(&picture.view, kind);
	assert_non_null(in_report);
	if (outcome == GMT_OOM_NONE) {
		assert_non_null(in_picture);
		assert_int_equal(picture.view.finding_count, report.finding_count);
		assert_int_equal(in_picture->bytes, in_report->bytes);
		assert_int_equal(in_picture->count, in_report->count);
		assert_int_equal(in_picture->since_ns, in_report->since_ns);
		assert_int_equal(line_of(&picture.view, in_picture), line_of(&report, in_report));
	} else {
		assert_null(in_picture);
	}
	oom_view_free(&picture);
	view_free(&report);
	oom_free(oom);
}

static void the_leak_in_a_picture(void **state)
{
	struct training *t = begin();

	(void)state;
	for (int i = 1; i <= 40; i++, drop_gradient(t))
		iterate(t, BACKWARD);
	same_in_a_picture(t, FINDING_OF_LEAK, GMT_OOM_NONE);
	same_in_a_picture(t, FINDING_OF_LEAK, GMT_OOM_FATAL);
	end(t);
}

static void the_growth_in_a_picture(void **state)
{
	struct training *t = begin();

	(void)state;
	for (uint64_t i = 1; i <= 100; i++) {
		block(t, KEEP, BASE + i * MiB, MiB);
		t->r.ts_ns += 1000000000;
	}
	same_in_a_picture(t, FINDING_OF_GROWTH, GMT_OOM_NONE);
	same_in_a_picture(t, FINDING_OF_GROWTH, GMT_OOM_FATAL);
	end(t);
}

static uint32_t next_random(uint32_t *seed)
{
	return *seed = *seed * 1664525 + 1013904223;
}

/* A block comes or goes, a backward begins, an optimizer steps, or growth begins anew. */
static void act_at_random(struct training *t, uint64_t *sizes, uint32_t random)
{
	static const enum place places[] = { FORWARD, KEEP, ENGINE, 0 };
	uint32_t what = random >> 24, which = random >> 8 & 15;
	struct gmt_mark mark = { .number = 1 };

	t->r.ts_ns += random % 400000000;
	if (what < 8)
		records_apply(&t->r, &mark, GMT_KIND_MARK, sizeof(mark));
	else if (what < 40)
		range(t, 0, GMT_RANGE_BACKWARD, BACKWARD);
	else if (what < 70)
		range(t, 1, what & 1 ? GMT_RANGE_BEGIN : GMT_RANGE_END, 0);
	else if (sizes[which])
		block(t, 0, BASE + which * MiB, -(int64_t)sizes[which]), sizes[which] = 0;
	else
		block(t, places[random & 3], BASE + which * MiB, (int64_t)(sizes[which] = 512 * (1 + random % 2000)));
}

/* Whatever a program does, and also of the program that it executes, and after its end. */
static void each_use_is_exact(void **state)
{
	uint32_t seed = 1;
	struct view view;

	(void)state;
	for (int story = 0; story < 60; story++) {
		struct training *t = begin();
		uint64_t sizes[16] = { 0 };

		for (int i = 0; i < 400; i++) {
			act_at_random(t, sizes, next_random(&seed));
			if (i % 40 == 39) {
				look(t, &view);
				categories_are_the_blocks(&view);
				view_free(&view);
			}
		}
		if (story % 2)
			records_exec(&t->r);
		else
			records_exit(&t->r, 0);
		look(t, &view);
		categories_are_the_blocks(&view);
		view_free(&view);
		end(t);
	}
}

/* The gradient is the memory of the line that waited in backward(). */
static void the_line_that_waits(void **state)
{
	struct training *t = begin();
	struct view view;

	(void)state;
	iterate(t, BACKWARD);
	look(t, &view);
	assert_non_null(line_at(&view, 30));
	assert_int_equal(line_at(&view, 30)->held.live, 2 * MiB);
	assert_null(line_at(&view, 0));
	assert_int_equal(blocks_of(&view)->owner_count, 1);
	assert_string_equal(view.owners[blocks_of(&view)->owners[0].owner].text, "train.py (PyTorch)");
	view_free(&view);
	drop_gradient(t);
	iterate(t, OTHER_BACKWARD);      /* two lines have waited for the same stack */
	look(t, &view);
	assert_null(line_at(&view, 30));
	assert_null(line_at(&view, 40));
	assert_int_equal(line_at(&view, 0)->held.live, 2 * MiB);
	view_free(&view);
	end(t);
}

/* Another process's stack that reads alike has nobody who waited: its memory is not the first process's line's. */
static void nobody_waits_in_the_next_process(void **state)
{
	struct training *t = begin();
	const struct view_stacks *blocks;
	struct view view;

	(void)state;
	iterate(t, BACKWARD);
	t->r.tgid = t->r.tid = 300;
	t->allocated = 0;
	records_proc(&t->r, 1, "python");
	records_device(&t->r, 0, 1);
	block(t, ENGINE, BASE, 2 * MiB);
	look(t, &view);
	assert_int_equal(view.proc_count, 2);
	blocks = blocks_of_process(&view, view.procs[1].tgid == 300);
	assert_int_equal(blocks->owner_count, 1);
	assert_string_equal(view.owners[blocks->owners[0].owner].text, "PyTorch");
	view_free(&view);
	end(t);
}

/* A segment that autograd's thread needs for a block has the owner of that block, in a dump's picture, too. */
static void the_segment_of_a_thread(void **state)
{
	struct training *t = begin();
	const struct view_owner *owner;
	struct view view;
	struct oom *oom;

	(void)state;
	range(t, 0, GMT_RANGE_BACKWARD, BACKWARD);
	t->r.tid = AUTOGRAD;
	t->r.stack_id = ENGINE_SEGMENT;
	CALL(&t->r, cuCtxSetCurrent, 0xc0);
	CALL(&t->r, cuMemAlloc_v2, BASE + 2 * GiB, 2 * GiB);
	block(t, ENGINE, BASE + 2 * GiB, MiB);
	look(t, &view);
	owner = &view.procs[0].rows[0].stacks.owners[0];
	assert_int_equal(owner->held.live, 2 * GiB);
	assert_string_equal(view.owners[owner->owner].text, "train.py (PyTorch)");
	view_free(&view);
	oom = ooms_picture(t->r.ooms);
	assert_int_equal(oom->waiting_count, 2);         /* the segment's stack, and the block's */
	assert_int_equal(oom->waiting[0].stack_id, ENGINE_SEGMENT);
	assert_int_equal(oom->waiting[0].waiting_id, BACKWARD);
	oom_free(oom);
	end(t);
}

/* What is left after an error is for what the verdict of the error said; the error ends the backward. */
static void left_after_an_error(void **state)
{
	struct gmt_fw_oom rec = { .size = GiB, .device_type = GMT_FW_GPU };
	struct training *t = begin();
	struct view view;

	(void)state;
	for (int i = 0; i < 3; i++, drop_gradient(t))
		iterate(t, BACKWARD);
	block(t, FORWARD, BASE + 64 * MiB, 4 * MiB);
	block(t, KEEP, BASE + 96 * MiB, MiB);
	range(t, 0, GMT_RANGE_BACKWARD, BACKWARD);
	t->r.tid = AUTOGRAD;
	records_apply(&t->r, &rec, GMT_KIND_FW_OOM, sizeof(rec));
	t->r.tid = t->r.tgid;
	block(t, KEEP, BASE + 96 * MiB, -(int64_t)MiB);
	look(t, &view);
	assert_int_equal(view.procs[0].rows[0].torch.training.categories[GMT_CATEGORY_ACTIVATION].live, 4 * MiB);
	view_free(&view);
	end(t);
}

static void waiting_is_bounded(void **state)
{
	struct hash waiting = { 0 };
	const struct waiting_ids *ids;

	(void)state;
	waiting_add(&waiting, 7, 0);
	assert_int_equal(hash_count(&waiting), 0);
	for (uint32_t i = 1; i <= WAITING_IDS_MAX; i++)
		waiting_add(&waiting, 7, i);
	waiting_add(&waiting, 7, 1);
	ids = hash_get(&waiting, 7);
	assert_false(ids->is_uncertain);
	assert_int_equal(ids->count, WAITING_IDS_MAX);
	waiting_add(&waiting, 7, 99);
	assert_true(ids->is_uncertain);
	for (uint32_t i = 1; i < 2 * WAITING_STACKS_MAX; i++)
		assert_int_equal(waiting_add(&waiting, i, 1), i <= WAITING_STACKS_MAX);
	assert_true(waiting_add(&waiting, 7, 3));
	assert_int_equal(hash_count(&waiting), WAITING_STACKS_MAX);
	hash_fini(&waiting);
}

/* Stacks of autograd's threads that are too many for who waited are counted. */
static void too_many_wait(void **state)
{
	struct training *t = begin();
	struct view view;

	(void)state;
	range(t, 0, GMT_RANGE_BACKWARD, BACKWARD);
	t->r.tid = AUTOGRAD;
	for (uint32_t i = 0; i < WAITING_STACKS_MAX + 3; i++) {
		if (i >= WAITING_STACKS_MAX) {
			look(t, &view);
			assert_int_equal(view.dropped[VIEW_DROP_WAITING], i - WAITING_STACKS_MAX);
			view_free(&view);
		}
		t->r.stack_id = 1000 + i;
		records_block(&t->r, BASE, MiB, t->allocated += MiB, GiB);
		records_block(&t->r, BASE, -(int64_t)MiB, t->allocated -= MiB, GiB);
	}
	end(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_iteration),
		cmocka_unit_test(each_iteration_by_use),
		cmocka_unit_test(each_use_is_exact),
		cmocka_unit_test(the_leak_in_a_picture),
		cmocka_unit_test(the_growth_in_a_picture),
		cmocka_unit_test(the_line_that_waits),
		cmocka_unit_test(nobody_waits_in_the_next_process),
		cmocka_unit_test(the_segment_of_a_thread),
		cmocka_unit_test(left_after_an_error),
		cmocka_unit_test(waiting_is_bounded),
		cmocka_unit_test(too_many_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
