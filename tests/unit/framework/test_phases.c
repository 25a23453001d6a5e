/* SPDX-License-Identifier: BSD-2-Clause */
/* What a training does, told from its ranges and blocks: phases, iterations, and what blocks are for. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/ledger/ledger.h"
#include "core/oom/oom_requests.h"
#include "core/view/view.h"
#include "records.h"

#define MAIN 100
#define WORKER 101       /* autograd's thread of device 0 */
#define RANK 102         /* another rank, a thread that uses device 1 */
#define RANK_WORKER 103

#define PARAMETERS 0x7f0000000000ull
#define INPUT (PARAMETERS + GiB)
#define ACTIVATION (PARAMETERS + 2 * GiB)
#define GRADIENT (PARAMETERS + 3 * GiB)
#define STATE (PARAMETERS + 4 * GiB)
#define OTHER (PARAMETERS + 5 * GiB)

struct training {
	struct records r;
	uint64_t allocated[2];   /* by device */
	uint64_t objects;
	struct view view;
};

static void block_on(struct training *t, unsigned int device, uint32_t tid, uint64_t ptr, int64_t delta)
{
	t->r.tid = tid;
	records_block_report(&t->r, (struct gmt_fw_mem){
		.ptr = ptr + device * 64 * GiB, .delta = delta, .total_allocated = t->allocated[device] += delta,
		.total_reserved = 10 * GiB, .device_type = GMT_FW_GPU, .device_index = device,
		.stack_id = t->r.stack_id,
	});
	assert_int_equal(t->r.result, 0);
}

static void block(struct training *t, uint32_t tid, uint64_t ptr, int64_t mib)
{
	block_on(t, 0, tid, ptr, mib * (int64_t)MiB);
}

static void range(struct training *t, uint32_t tid, uint64_t object, enum gmt_range_what what, const char *name)
{
	struct gmt_fw_range rec = { .object = object, .what = what };

	if (what == GMT_RANGE_BACKWARD)
		rec.stack_id = t->r.stack_id;
	if (name)
		memcpy(rec.name, name, strlen(name));
	t->r.tid = tid;
	records_apply(&t->r, &rec, GMT_KIND_FW_RANGE, sizeof(rec));
}

static uint64_t begin(struct training *t, uint32_t tid, const char *name)
{
	range(t, tid, ++t->objects, GMT_RANGE_BEGIN, name);
	return t->objects;
}

static void end(struct training *t, uint32_t tid, uint64_t object)
{
	range(t, tid, object, GMT_RANGE_END, NULL);
}

static void backward(struct training *t, uint32_t tid)
{
	range(t, tid, 0, GMT_RANGE_BACKWARD, NULL);
}

/* What is shown of a device now: the scene gives it the GPU that comes last. */
static const struct view_training *seen_of(struct training *t, unsigned int device)
{
	const struct view_proc *proc;

	view_free(&t->view);
	view_build(t->r.pipeline, NULL, &t->view);
	proc = &t->view.procs[t->view.proc_count - 1];
	assert_true(device < proc->row_count);
	return &proc->rows[proc->row_count - 1 - device].torch.training;
}

static const struct view_training *seen(struct training *t)
{
	return seen_of(t, 0);
}

static uint64_t live(struct training *t, enum gmt_category category)
{
	return seen(t)->categories[category].live / MiB;
}

static uint64_t at_peak(struct training *t, enum gmt_category category)
{
	return seen(t)->categories[category].at_peak / MiB;
}

/* "forward 0 110 110" of an iteration: begin, end, peak in MiB. */
static void check_cell(struct training *t, uint32_t iteration, enum gmt_training phase, const char *wanted)
{
	const struct view_training *s = seen(t);
	char text[64] = "never";

	for (size_t i = 0; i < s->iteration_count; i++) {
		const struct phase_cell *c = &s->iterations[i].cells[phase];

		if (s->iterations[i].number == iteration && c->times)
			snprintf(text, sizeof(text), "%llu %llu %llu", (unsigned long long)(c->begin / MiB),
				 (unsigned long long)(c->end / MiB), (unsigned long long)(c->peak / MiB));
	}
	assert_string_equal(text, wanted);
}

static uint32_t newest_iteration(struct training *t)
{
	const struct view_training *s = seen(t);

	return s->iterations[s->iteration_count - 1].number;
}

/* growth.count; 0 before anything was seen. */
static uint32_t seen_or_none(struct training *t)
{
	return t->allocated[0] ? seen(t)->growth.count : 0;
}

static int setup(void **state)
{
	struct training *t = calloc(1, sizeof(*t));

	records_scene(&t->r, API_LAYER);
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct training *t = *state;

	view_free(&t->view);
	records_fini(&t->r);
	free(t);
	return 0;
}

/* ---- one iteration as a GPU runs it ---- */

static void forward(struct training *t)
{
	block(t, MAIN, INPUT, 8);
	block(t, MAIN, ACTIVATION, 64);
	block(t, MAIN, OTHER, 4);
	block(t, MAIN, OTHER, -4);
}

static void backward_by(struct training *t, uint32_t worker)
{
	backward(t, MAIN);
	block(t, worker, OTHER, 16);
	block(t, worker, GRADIENT, 32);
	block(t, worker, ACTIVATION, -64);
	block(t, worker, OTHER, -16);
}

static void step(struct training *t, bool is_first)
{
	uint64_t object = begin(t, MAIN, "Optimizer.step#SGD.step");

	if (is_first)
		block(t, MAIN, STATE, 32);
	block(t, MAIN, OTHER, 2);
	block(t, MAIN, OTHER, -2);
	end(t, MAIN, object);
}

static void zero_grad(struct training *t)
{
	uint64_t object = begin(t, MAIN, "Optimizer.zero_grad#SGD.zero_grad");

	block(t, MAIN, GRADIENT, -32);
	end(t, MAIN, object);
}

static void iterate(struct training *t, int first, int count)
{
	for (int i = first; i < first + count; i++) {
		forward(t);
		backward_by(t, WORKER);
		step(t, i == 1);
		zero_grad(t);
		block(t, MAIN, INPUT, -8);
	}
}

/* ---- phases ---- */

static void phases_of_an_iteration(void **state)
{
	struct training *t = *state;

	block(t, MAIN, PARAMETERS, 32);
	iterate(t, 1, 3);
	check_cell(t, 1, GMT_TRAINING_FORWARD, "0 104 108");
	check_cell(t, 1, GMT_TRAINING_BACKWARD, "104 72 152");
	check_cell(t, 1, GMT_TRAINING_OPTIMIZER, "72 104 106");
	check_cell(t, 1, GMT_TRAINING_ZERO_GRAD, "never");  /* the step has ended the iteration */
	check_cell(t, 2, GMT_TRAINING_ZERO_GRAD, "104 72 104");
	check_cell(t, 2, GMT_TRAINING_FORWARD, "72 136 140");
	check_cell(t, 2, GMT_TRAINING_BACKWARD, "136 104 184");
	check_cell(t, 2, GMT_TRAINING_OPTIMIZER, "104 104 106");
	check_cell(t, 4, GMT_TRAINING_ZERO_GRAD, "104 72 104");
	assert_true(seen(t)->first_is_whole);
	assert_int_equal(seen(t)->iteration_count, 4);
	assert_true(seen(t)->iterations[2].is_over);
	assert_false(seen(t)->iterations[3].is_over);
}

static void several_backwards_are_one_iteration(void **state)
{
	struct training *t = *state;

	for (int i = 0; i < 3; i++) {
		forward(t);
		backward_by(t, WORKER);
		block(t, MAIN, INPUT, -8);
		block(t, WORKER, GRADIENT, -32);
	}
	step(t, true);
	step(t, false);   /* another optimizer, and no backward between */
	check_cell(t, 1, GMT_TRAINING_FORWARD, "0 72 76");
	check_cell(t, 2, GMT_TRAINING_FORWARD, "never");
	check_cell(t, 2, GMT_TRAINING_OPTIMIZER, "32 32 34");
	assert_int_equal(seen(t)->iterations[0].cells[GMT_TRAINING_BACKWARD].times, 3);
}

/* A node on the CPU's queue runs on the thread that waits. */
static void waiting_thread_allocates(void **state)
{
	struct training *t = *state;

	forward(t);
	backward(t, MAIN);
	block(t, MAIN, OTHER, 1);
	block(t, WORKER, GRADIENT, 32);
	block(t, WORKER, ACTIVATION, -64);
	check_cell(t, 1, GMT_TRAINING_BACKWARD, "72 41 105");
	/* and when it goes on for good, the backward was over */
	block(t, MAIN, ACTIVATION, 64);
	check_cell(t, 1, GMT_TRAINING_FORWARD, "0 105 105");
	check_cell(t, 1, GMT_TRAINING_BACKWARD, "72 41 105");
}

/* What autograd's thread frees late is no sign that the backward goes on. */
static void freed_late(void **state)
{
	struct training *t = *state;

	iterate(t, 1, 1);
	forward(t);
	backward(t, MAIN);
	backward(t, MAIN);   /* a file that is probed twice */
	block(t, WORKER, GRADIENT, 32);
	block(t, MAIN, OTHER, 4);
	block(t, WORKER, ACTIVATION, -64);
	block(t, MAIN, OTHER, -4);
	check_cell(t, 2, GMT_TRAINING_BACKWARD, "104 136 136");
	check_cell(t, 2, GMT_TRAINING_FORWARD, "40 72 140");
	assert_int_equal(seen(t)->iterations[1].cells[GMT_TRAINING_BACKWARD].times, 1);
	assert_int_equal(at_peak(t, GMT_CATEGORY_ACTIVATION), 64 + 8); /* the input may be one yet */
}

static void optimizer_inside_backward(void **state)
{
	struct training *t = *state;

	for (int i = 0; i < 2; i++) {
		uint64_t object;

		forward(t);
		backward(t, MAIN);
		block(t, WORKER, GRADIENT, 32);
		object = begin(t, WORKER, "Optimizer.step#Adam.step");
		if (!i)
			block(t, WORKER, STATE, 64);
		end(t, WORKER, object);
		block(t, WORKER, GRADIENT, -32);
		object = begin(t, WORKER, "Optimizer.step#Adam.step");
		if (!i)
			block(t, WORKER, STATE + GiB / 2, 64);
		end(t, WORKER, object);
		block(t, WORKER, ACTIVATION, -64);
		block(t, MAIN, INPUT, -8);
	}
	check_cell(t, 1, GMT_TRAINING_OPTIMIZER, "104 200 200");
	check_cell(t, 1, GMT_TRAINING_BACKWARD, "72 128 136");
	assert_int_equal(live(t, GMT_CATEGORY_OPTIMIZER_STATE), 128);
	/* what its thread allocates after it is the next iteration's forward */
	check_cell(t, 2, GMT_TRAINING_FORWARD, "128 200 204");
	block(t, MAIN, OTHER, 1);
	assert_int_equal(newest_iteration(t), 3);
	backward(t, MAIN);
	assert_int_equal(newest_iteration(t), 3);
	/* of another thread's ranges those with blocks are seen */
	assert_string_equal(seen(t)->ranges[0].name, "Optimizer.step#Adam.step");
	assert_int_equal(seen(t)->ranges[0].cell.times, 2);
}

static void threads_are_ranks(void **state)
{
	struct training *t = *state;

	block_on(t, 0, MAIN, ACTIVATION, 10 * MiB);
	backward(t, MAIN);
	block_on(t, 0, WORKER, GRADIENT, 5 * MiB);
	block_on(t, 1, RANK, ACTIVATION, 20 * MiB);
	backward(t, RANK);
	block_on(t, 1, RANK_WORKER, GRADIENT, 7 * MiB);
	block_on(t, 0, WORKER, ACTIVATION, -10 * (int64_t)MiB);
	end(t, MAIN, begin(t, MAIN, "Optimizer.step#SGD.step"));
	block_on(t, 1, RANK_WORKER, ACTIVATION, -20 * (int64_t)MiB);
	check_cell(t, 1, GMT_TRAINING_BACKWARD, "10 5 15");
	assert_int_equal(live(t, GMT_CATEGORY_GRADIENT), 5);
	assert_true(seen(t)->iterations[0].is_over);
	/* the other one is in its backward still */
	const struct view_training *other = seen_of(t, 1);

	assert_int_equal(other->iteration_count, 1);
	assert_false(other->iterations[0].is_over);
	assert_int_equal(other->iterations[0].cells[GMT_TRAINING_BACKWARD].peak, 27 * MiB);
	assert_int_equal(other->categories[GMT_CATEGORY_AUTOGRAD_DETAIL].live, 7 * MiB);
}

static void attached_in_the_middle(void **state)
{
	struct training *t = *state;

	t->r.tgid = 300;
	t->r.tid = MAIN;
	records_attach(&t->r, false);
	t->allocated[0] = 500 * MiB;
	block(t, WORKER, GRADIENT, 32);   /* its backward was not seen */
	step(t, false);
	zero_grad(t);
	iterate(t, 2, 2);
	const struct view_training *s = seen(t);

	assert_false(s->first_is_whole);
	assert_int_equal(s->before, 500 * MiB);
	assert_int_equal(s->iteration_count, 3);
	assert_int_equal(s->iterations[1].cells[GMT_TRAINING_BACKWARD].peak, 620 * MiB);
}

/* ... of two for one step: that the first event is by autograd's thread delays nothing. */
static void attached_in_a_backward(void **state)
{
	struct training *t = *state;

	t->r.tgid = 300;
	t->r.tid = MAIN;
	records_attach(&t->r, false);
	t->allocated[0] = 500 * MiB;
	block(t, WORKER, GRADIENT, 32);
	forward(t);
	backward_by(t, WORKER);
	step(t, false);
	assert_true(seen(t)->iterations[0].is_over);
	check_cell(t, 1, GMT_TRAINING_FORWARD, "500 604 608");
	check_cell(t, 1, GMT_TRAINING_BACKWARD, "604 572 652");
}

static void each_iteration_leaves_something(void **state)
{
	struct training *t = *state;

	for (int i = 1; i <= 6; i++) {
		assert_int_equal(seen_or_none(t), i < 6 ? 0 : 3);
		t->r.ts_ns += 1000000000;
		iterate(t, i, 1);
		if (i > 1)
			block(t, MAIN, OTHER + i * GiB, i == 6 ? 10 : 1);
	}
	iterate(t, 7, 1);
	assert_int_equal(seen(t)->growth.count, 5);
	/* Iterations 3 to 7: no time passed before the last. */
	assert_int_equal(seen(t)->growth.time_ns / 1000000000, 4);
	assert_true(seen(t)->growth.end_ns > t->r.ts_ns - 1000000 && seen(t)->growth.end_ns <= t->r.ts_ns);
	assert_int_equal(seen(t)->growth.bytes, (4 + 10) * MiB / 5);
	iterate(t, 8, 1);
	assert_int_equal(seen(t)->growth.count, 0);
}

/* ---- ranges ---- */

/* A range around a backward tells its end; what is freed then is no new forward. */
static void backward_in_a_range(void **state)
{
	struct training *t = *state;
	uint64_t object;

	forward(t);
	object = begin(t, MAIN, "## backward ##");
	backward(t, MAIN);
	block(t, WORKER, GRADIENT, 32);
	block(t, WORKER, ACTIVATION, -64);
	end(t, MAIN, object);
	block(t, MAIN, INPUT, -8);
	check_cell(t, 1, GMT_TRAINING_FORWARD, "0 72 76");
	check_cell(t, 1, GMT_TRAINING_BACKWARD, "72 32 104");
	block(t, MAIN, OTHER, 1);
	check_cell(t, 1, GMT_TRAINING_FORWARD, "0 33 76");
	block(t, MAIN, OTHER, -1);
	check_cell(t, 1, GMT_TRAINING_FORWARD, "0 32 76");
	check_cell(t, 1, GMT_TRAINING_BACKWARD, "72 32 104");
}

static void ranges_of_the_user(void **state)
{
	struct training *t = *state;
	uint64_t outer, inner;
	const struct view_training *s;

	for (int i = 0; i < 3; i++) {
		char name[32];

		snprintf(name, sizeof(name), "ProfilerStep#%d", i);
		outer = begin(t, MAIN, name);
		inner = begin(t, MAIN, "## forward ##");
		forward(t);
		end(t, MAIN, inner);
		end(t, MAIN, inner);   /* its destructor says it again */
		backward_by(t, WORKER);
		end(t, MAIN, outer);
		block(t, MAIN, GRADIENT, -32);
		block(t, MAIN, INPUT, -8);
	}
	s = seen(t);
	assert_int_equal(s->range_count, 2);
	assert_string_equal(s->ranges[0].name, "ProfilerStep#");
	assert_int_equal(s->ranges[0].cell.times, 3);
	assert_int_equal(s->ranges[0].cell.peak, 120 * MiB);
	assert_string_equal(s->ranges[1].name, "## forward ##");
	assert_int_equal(s->ranges[1].cell.begin, 0);
	assert_int_equal(s->ranges[1].cell.end, 72 * MiB);
	assert_int_equal(s->ranges[1].cell.peak, 76 * MiB);
	assert_int_equal(s->ranges[1].cell.alloc_bytes, 3 * 76 * MiB);
}

static void too_many(void **state)
{
	struct training *t = *state;
	uint64_t objects[200];

	block(t, MAIN, PARAMETERS, 1);
	for (int i = 0; i < 200; i++) {
		char name[32];

		snprintf(name, sizeof(name), "range %d", i);
		objects[i] = begin(t, i < 100 ? MAIN : 1000 + i, name);
	}
	for (int i = 199; i >= 0; i--)
		end(t, i < 100 ? MAIN : 1000 + i, objects[i]);
	assert_int_equal(seen(t)->range_count, 16);
	assert_int_equal(t->view.dropped[VIEW_DROP_PHASES], 200 - 16);
	range(t, MAIN, 0, GMT_RANGE_BEGIN, "no object");
	assert_int_equal(t->r.result, -EINVAL);
	range(t, MAIN, 1, 77, "of a newer version");
	assert_int_equal(t->r.result, 0);
}

/* ---- categories ---- */

static void categories_of_a_training(void **state)
{
	struct training *t = *state;

	block(t, MAIN, PARAMETERS, 33);
	assert_int_equal(live(t, GMT_CATEGORY_UNKNOWN), 33);
	iterate(t, 1, 3);
	assert_int_equal(live(t, GMT_CATEGORY_PARAMETER), 33);
	assert_int_equal(live(t, GMT_CATEGORY_OPTIMIZER_STATE), 32);
	forward(t);
	assert_int_equal(live(t, GMT_CATEGORY_ACTIVATION), 64 + 8);
	backward(t, MAIN);
	block(t, WORKER, OTHER, 18);
	block(t, WORKER, GRADIENT, 31);
	assert_int_equal(live(t, GMT_CATEGORY_AUTOGRAD_DETAIL), 18 + 31);
	block(t, WORKER, ACTIVATION, -64);
	block(t, WORKER, OTHER, -18);
	step(t, false);
	assert_int_equal(live(t, GMT_CATEGORY_GRADIENT), 31);
	assert_int_equal(live(t, GMT_CATEGORY_INPUT), 8);
	assert_int_equal(live(t, GMT_CATEGORY_PARAMETER), 33);
	/* the peak was in the last backward, by one MiB */
	assert_int_equal(at_peak(t, GMT_CATEGORY_PARAMETER), 33);
	assert_int_equal(at_peak(t, GMT_CATEGORY_OPTIMIZER_STATE), 32);
	assert_int_equal(at_peak(t, GMT_CATEGORY_ACTIVATION), 64);
	assert_int_equal(at_peak(t, GMT_CATEGORY_GRADIENT), 31);
	assert_int_equal(at_peak(t, GMT_CATEGORY_TEMPORARY), 18);
	assert_int_equal(at_peak(t, GMT_CATEGORY_INPUT), 8);
}

static void gradients_that_stay(void **state)
{
	struct training *t = *state;

	forward(t);
	backward_by(t, WORKER);
	step(t, true);
	block(t, MAIN, INPUT, -8);
	forward(t);
	assert_int_equal(live(t, GMT_CATEGORY_GRADIENT), 32);
	/* freed by hand: by who waited for the backward, before it did anything else */
	backward(t, MAIN);
	block(t, WORKER, OTHER, 16);
	block(t, MAIN, OTHER, -16);
	assert_int_equal(at_peak(t, GMT_CATEGORY_GRADIENT), 32 + 16);
}

static void what_outlives_iterations(void **state)
{
	struct training *t = *state;

	iterate(t, 1, 2);
	block(t, MAIN, OTHER + GiB, 5);   /* appended to a list, in iteration 3 */
	iterate(t, 3, 1);
	assert_int_equal(live(t, GMT_CATEGORY_INPUT), 5);
	iterate(t, 4, 1);
	assert_int_equal(live(t, GMT_CATEGORY_KEPT), 5);
	block(t, MAIN, OTHER + 2 * GiB, 7);  /* in iteration 5 */
	iterate(t, 5, 2);
	assert_int_equal(live(t, GMT_CATEGORY_KEPT), 12);
	assert_int_equal(seen(t)->categories[GMT_CATEGORY_KEPT].late, 0); /* a variable may hold it */
	iterate(t, 7, 1);
	assert_int_equal(seen(t)->categories[GMT_CATEGORY_KEPT].late / MiB, 7);
}

static void what_the_code_says(void **state)
{
	struct training *t = *state;
	static const char module[] = "/usr/lib/python3/dist-packages/torch/nn/modules/module.py";

	records_symbol(&t->r, 1, "at::cuda::getCurrentCUDABlasHandle()", "libtorch_cuda.so", "", 0);
	records_symbol(&t->r, 2, "Module._apply", "", module, 800);
	records_symbol(&t->r, 3, "main", "", "train.py", 7);
	FRAMES(&t->r, 1, 1, 3);
	FRAMES(&t->r, 2, 2, 3);
	FRAMES(&t->r, 3, 3);
	for (uint32_t id = 1; id <= 3; id++) {
		t->r.stack_id = id;
		block(t, MAIN, PARAMETERS + id * GiB, 10 * id);
	}
	assert_int_equal(live(t, GMT_CATEGORY_WORKSPACE), 10);
	assert_int_equal(live(t, GMT_CATEGORY_PARAMETER), 20);
	assert_int_equal(live(t, GMT_CATEGORY_UNKNOWN), 30);
}

/* However many stacks there are, and however few of them are shown. */
static void purposes_of_many_stacks(void **state)
{
	const struct view_request request = { .top = 1 };
	struct training *t = *state;
	const struct view_proc *proc;
	const struct view_top *top;
	char name[16];

	for (uint32_t id = 1; id <= 200; id++) {
		snprintf(name, sizeof(name), "function%u", id);
		records_symbol(&t->r, id, name, "", "train.py", id);
		FRAMES(&t->r, id, id);
		t->r.stack_id = id;
		block(t, MAIN, PARAMETERS + id * GiB, id);
	}
	view_build(t->r.pipeline, &request, &t->view);
	proc = &t->view.procs[t->view.proc_count - 1];
	top = &proc->rows[proc->row_count - 1].torch.stacks.top[VIEW_BY_LIVE];
	assert_int_equal(top->count, 1);
	assert_int_equal(top->rows[0].held.live, 200 * MiB);
	assert_int_equal(top->rows[0].purpose, 1 + GMT_CATEGORY_UNKNOWN);
}

/* At its end a process's categories stay; they add up to its blocks all the time. */
static void at_the_end(void **state)
{
	struct training *t = *state;
	uint64_t sum = 0;

	block(t, MAIN, PARAMETERS, 33);
	iterate(t, 1, 3);
	forward(t);
	records_exit(&t->r, 0);
	for (int i = 0; i < GMT_CATEGORY_COUNT; i++)
		sum += live(t, (enum gmt_category)i);
	assert_int_equal(sum, 33 + 32 + 72);
	assert_int_equal(live(t, GMT_CATEGORY_PARAMETER), 33);
	sum = 0;
	for (int i = 0; i < GMT_CATEGORY_COUNT; i++)
		sum += at_peak(t, (enum gmt_category)i);
	assert_int_equal(sum, t->view.procs[0].rows[0].torch.allocated.peak / MiB);
}

/* The stack of the backward for which a thread runs out of memory. */
static uint32_t waiting_stack(struct training *t, uint32_t tid)
{
	struct gmt_fw_oom rec = { .size = ++t->objects * GiB, .device_type = GMT_FW_GPU };
	uint32_t stack_id;
	struct oom *oom;

	t->r.tid = tid;
	records_apply(&t->r, &rec, GMT_KIND_FW_OOM, sizeof(rec));
	oom = ooms_take(t->r.ooms);
	assert_non_null(oom);
	stack_id = oom->rec.backward_stack_id;
	oom_free(oom);
	return stack_id;
}

/* What goes because of an error was no temporary memory: the report says what the verdict of the error said. */
static void gone_by_an_error(void **state)
{
	struct training *t = *state;

	block(t, MAIN, PARAMETERS, 32);
	iterate(t, 1, 3);
	block(t, MAIN, ACTIVATION, 640);
	assert_int_equal(live(t, GMT_CATEGORY_ACTIVATION), 640);
	waiting_stack(t, MAIN);                          /* runs out of memory */
	block(t, MAIN, ACTIVATION, -640);
	assert_int_equal(at_peak(t, GMT_CATEGORY_ACTIVATION), 640);
	assert_int_equal(at_peak(t, GMT_CATEGORY_TEMPORARY), 0);
	block(t, MAIN, OTHER, 1);                        /* the program goes on */
	block(t, MAIN, ACTIVATION, 800);
	block(t, MAIN, ACTIVATION, -800);
	assert_int_equal(at_peak(t, GMT_CATEGORY_TEMPORARY), 800);
}

static void whose_backward(void **state)
{
	struct training *t = *state;

	block(t, MAIN, PARAMETERS, 33);
	assert_int_equal(waiting_stack(t, WORKER), 0);
	t->r.stack_id = 7;
	backward(t, MAIN);
	assert_int_equal(waiting_stack(t, WORKER), 7);
	assert_int_equal(waiting_stack(t, MAIN), 0);     /* has its own stack */
	t->r.stack_id = 8;
	backward(t, MAIN);                               /* the same call once more */
	assert_int_equal(waiting_stack(t, WORKER), 7);
	block(t, MAIN, OTHER, 1);                        /* the backward seems to be over */
	assert_int_equal(waiting_stack(t, WORKER), 0);
	backward(t, MAIN);
	assert_int_equal(waiting_stack(t, WORKER), 8);
	block_on(t, 1, RANK, PARAMETERS, MiB);
	backward(t, RANK);                               /* one of two */
	assert_int_equal(waiting_stack(t, WORKER), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(gone_by_an_error, setup, teardown),
		cmocka_unit_test_setup_teardown(whose_backward, setup, teardown),
		cmocka_unit_test_setup_teardown(phases_of_an_iteration, setup, teardown),
		cmocka_unit_test_setup_teardown(several_backwards_are_one_iteration, setup, teardown),
		cmocka_unit_test_setup_teardown(waiting_thread_allocates, setup, teardown),
		cmocka_unit_test_setup_teardown(freed_late, setup, teardown),
		cmocka_unit_test_setup_teardown(optimizer_inside_backward, setup, teardown),
		cmocka_unit_test_setup_teardown(threads_are_ranks, setup, teardown),
		cmocka_unit_test_setup_teardown(attached_in_the_middle, setup, teardown),
		cmocka_unit_test_setup_teardown(attached_in_a_backward, setup, teardown),
		cmocka_unit_test_setup_teardown(each_iteration_leaves_something, setup, teardown),
		cmocka_unit_test_setup_teardown(backward_in_a_range, setup, teardown),
		cmocka_unit_test_setup_teardown(ranges_of_the_user, setup, teardown),
		cmocka_unit_test_setup_teardown(too_many, setup, teardown),
		cmocka_unit_test_setup_teardown(categories_of_a_training, setup, teardown),
		cmocka_unit_test_setup_teardown(gradients_that_stay, setup, teardown),
		cmocka_unit_test_setup_teardown(what_outlives_iterations, setup, teardown),
		cmocka_unit_test_setup_teardown(what_the_code_says, setup, teardown),
		cmocka_unit_test_setup_teardown(purposes_of_many_stacks, setup, teardown),
		cmocka_unit_test_setup_teardown(at_the_end, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
