/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/framework/phases.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "core/framework/range_name.h"

/* PyTorch appends the name of a class to each of these names (torch/optim/optimizer.py of 1.13 and 2.11). */
static const struct {
	const char *prefix;
	enum gmt_training phase;
} known_ranges[] = {
	{ "Optimizer.step#", GMT_TRAINING_OPTIMIZER },
	{ "Optimizer.zero_grad#", GMT_TRAINING_ZERO_GRAD },
};

void phases_fini(struct phases *p)
{
	for (unsigned int i = 0; i < p->line_count; i++)
		phase_line_fini(&p->lines[i]);
	free(p->lines);
	free(p->threads);
	free(p->names);
	*p = (struct phases){ .dropped = p->dropped };
}

void phases_restart(struct phases *p)
{
	for (unsigned int i = 0; i < p->line_count; i++)
		p->lines[i].rises = (struct rises){ 0 };
}

const struct phase_line *phases_line(const struct phases *p, unsigned int device)
{
	return device < p->line_count && p->lines[device].now.iteration ? &p->lines[device] : NULL;
}

/* ---- threads ---- */

static struct phase_thread *find_thread(struct phases *p, uint32_t tid)
{
	for (unsigned int i = 0; i < p->thread_count; i++)
		if (p->threads[i].tid == tid)
			return &p->threads[i];
	return NULL;
}

/* In a full table, a new thread replaces a thread without open ranges. NULL: all threads have open ranges. */
static struct phase_thread *get_thread(struct phases *p, uint32_t tid)
{
	struct phase_thread *t = find_thread(p, tid);

	if (t)
		return t;
	if (p->thread_count < PHASES_THREADS_MAX) {
		p->threads = xreallocarray(p->threads, p->thread_count + 1, sizeof(*p->threads));
		t = &p->threads[p->thread_count++];
	}
	for (unsigned int i = 0; !t && i < p->thread_count; i++)
		if (!p->threads[i].depth)
			t = &p->threads[i];
	p->dropped += !t;
	if (t)
		*t = (struct phase_thread){ .tid = tid };
	return t;
}

static struct phase_open *top_of(struct phase_thread *t)
{
	return t->depth ? &t->open[t->depth - 1] : NULL;
}

static bool is_backward(const struct phase_open *open)
{
	return open && !open->object;
}

static struct phase_open *backward_of(struct phase_thread *t)
{
	for (uint32_t i = t ? t->depth : 0; i > 0; i--)
		if (is_backward(&t->open[i - 1]))
			return &t->open[i - 1];
	return NULL;
}

/* The innermost phase that the thread is in. */
static struct phase_open *phase_of(struct phase_thread *t)
{
	for (uint32_t i = t ? t->depth : 0; i > 0; i--)
		if (t->open[i - 1].phase < GMT_TRAINING_COUNT)
			return &t->open[i - 1];
	return NULL;
}

static uint32_t new_span(struct phases *p)
{
	return p->spans += 2;
}

/* The first thread other than `but_tid` that is in a backward. */
static struct phase_thread *any_backward(struct phases *p, uint32_t but_tid)
{
	for (unsigned int i = 0; i < p->thread_count; i++)
		if (p->threads[i].tid != but_tid && backward_of(&p->threads[i]))
			return &p->threads[i];
	return NULL;
}

/* ---- beginning and ending ---- */

static bool owns_any(const struct phases *p, uint32_t tid)
{
	for (unsigned int i = 0; i < p->line_count; i++)
		if (p->lines[i].owner == tid)
			return true;
	return false;
}

/* The device is in no phase in particular, and the next forward has not begun. */
static void set_between(struct phase_line *line, uint32_t span)
{
	line->now.phase = GMT_TRAINING_ZERO_GRAD;
	line->now.span = span + 1;
}

static void end_backward(struct phases *p, struct phase_thread *t)
{
	uint32_t span = t->open[--t->depth].span;

	for (unsigned int i = 0; i < p->line_count; i++) {
		struct phase_line *line = &p->lines[i];

		if (line->owner == t->tid && line->now.span == span)
			set_between(line, span);
		if (line->owner == t->tid && line->had_step)
			phase_line_next_iteration(line, p->now_ns);
	}
}

static void end_step(struct phases *p, struct phase_thread *t)
{
	for (unsigned int i = 0; i < p->line_count; i++) {
		struct phase_line *line = &p->lines[i];
		struct phase_thread *owner = find_thread(p, line->owner);

		if (backward_of(owner))
			line->had_step |= owner == t || !owns_any(p, t->tid);
		else if (owner == t && line->had_backward)
			phase_line_next_iteration(line, p->now_ns);
	}
}

static uint64_t bit_of(unsigned int device)
{
	return 1ull << device % 64;
}

static void pop_range(struct phases *p, struct phase_thread *t)
{
	struct phase_open was = *top_of(t);

	if (is_backward(&was)) {
		end_backward(p, t);
		return;
	}
	t->depth--;
	for (unsigned int i = 0; was.name < PHASES_NAMES_MAX && i < p->line_count; i++)
		if (was.devices & bit_of(i))
			phase_line_end_range(&p->lines[i], was.name);
	if (was.phase == GMT_TRAINING_OPTIMIZER)
		end_step(p, t);
}

static void begin_on(struct phases *p, unsigned int device, struct phase_open *open)
{
	struct phase_line *line = &p->lines[device];

	open->devices |= bit_of(device);
	if (open->name < PHASES_NAMES_MAX)
		phase_line_begin(line, PHASE_LINE_RANGE(open->name));
	if (open->phase == GMT_TRAINING_COUNT)
		return;
	line->forward = 0;
	line->now.phase = open->phase;
	line->now.span = open->span;
	phase_line_begin(line, open->phase);
}

static void push_range(struct phases *p, struct phase_thread *t, struct phase_open open)
{
	p->dropped += t->depth == PHASES_OPEN_MAX;
	if (t->depth == PHASES_OPEN_MAX)
		return; /* end_range() will not find this range */
	open.span = new_span(p);
	t->open[t->depth++] = open;
	for (unsigned int i = 0; i < p->line_count; i++)
		if (p->lines[i].owner == t->tid)
			begin_on(p, i, top_of(t));
}

static uint8_t number_range(struct phases *p, const char *name)
{
	for (unsigned int i = 0; i < p->name_count; i++)
		if (!strcmp(p->names[i], name))
			return i;
	if (p->name_count == PHASES_NAMES_MAX)
		return PHASES_NAMES_MAX;
	p->names = xreallocarray(p->names, p->name_count + 1, sizeof(*p->names));
	memcpy(p->names[p->name_count], name, GMT_RANGE_NAME_BYTES);
	return p->name_count++;
}

static void begin_range(struct phases *p, const struct gmt_fw_range *rec)
{
	struct phase_open open = { .object = rec->object, .phase = GMT_TRAINING_COUNT };
	struct phase_thread *t = get_thread(p, rec->hdr.tid);
	char name[GMT_RANGE_NAME_BYTES];

	if (!t)
		return;
	while (is_backward(top_of(t)))
		pop_range(p, t);
	range_name(name, rec->name);
	open.name = number_range(p, name);
	p->dropped += open.name == PHASES_NAMES_MAX && t->depth < PHASES_OPEN_MAX;
	for (size_t i = 0; i < sizeof(known_ranges) / sizeof(known_ranges[0]); i++)
		if (!strncmp(name, known_ranges[i].prefix, strlen(known_ranges[i].prefix)))
			open.phase = known_ranges[i].phase;
	push_range(p, t, open);
}

static struct phase_thread *find_object(struct phases *p, const struct gmt_fw_range *rec, uint32_t *depth)
{
	struct phase_thread *own = find_thread(p, rec->hdr.tid);

	/* A range may end on another thread than it began on, but rarely does. */
	for (unsigned int i = 0; i <= p->thread_count; i++) {
		struct phase_thread *t = i ? &p->threads[i - 1] : own;

		for (*depth = t ? t->depth : 0; *depth > 0; --*depth)
			if (t->open[*depth - 1].object == rec->object)
				return t;
	}
	return NULL;
}

static void end_range(struct phases *p, const struct gmt_fw_range *rec)
{
	uint32_t depth;
	struct phase_thread *t = find_object(p, rec, &depth);

	/* The ranges inside this range have ended, too. */
	while (t && t->depth >= depth)
		pop_range(p, t);
}

static void begin_training(struct phase_line *line)
{
	line->now.is_training = line->had_backward = true;
}

/* Gives a device to a thread that asks for a backward and owns none. If a device was first seen in the middle of a
 * backward, the device belongs to autograd's thread until then. */
static void adopt_thread(struct phases *p, uint32_t tid)
{
	for (unsigned int i = 0; i < p->line_count && !owns_any(p, tid); i++)
		if (!find_thread(p, p->lines[i].owner))
			p->lines[i].owner = tid;
}

static void begin_backward(struct phases *p, uint32_t tid, uint32_t stack_id)
{
	struct phase_thread *t;

	/* A node of a backward asks for this backward, which is a part of the outer backward. */
	if (!owns_any(p, tid) && any_backward(p, tid))
		return;
	adopt_thread(p, tid);
	t = get_thread(p, tid);
	if (!t)
		return;
	/* The same call reports again, or a file is probed twice: a new backward would begin with an allocation. */
	if (is_backward(top_of(t)) && !top_of(t)->is_doubted)
		return;
	while (is_backward(top_of(t)))
		pop_range(p, t);
	push_range(p, t, (struct phase_open){
		.phase = GMT_TRAINING_BACKWARD, .name = PHASES_NAMES_MAX, .stack_id = stack_id,
	});
	for (unsigned int i = 0; i < p->line_count; i++)
		if (p->lines[i].owner == tid)
			begin_training(&p->lines[i]);
}

int phases_range(struct phases *p, const struct gmt_fw_range *rec)
{
	if (rec->what != GMT_RANGE_BACKWARD && !rec->object)
		return -EINVAL;
	switch ((enum gmt_range_what)rec->what) {
	case GMT_RANGE_BEGIN:
		begin_range(p, rec);
		return 0;
	case GMT_RANGE_END:
		end_range(p, rec);
		return 0;
	case GMT_RANGE_BACKWARD:
		begin_backward(p, rec->hdr.tid, rec->stack_id);
		return 0;
	}
	return -ENOENT;
}

/* A thread of autograd's owns no device, and does not say for which thread it works. */
uint32_t phases_backward_stack(const struct phases *p, uint32_t tid)
{
	uint32_t stack_id = 0;

	if (owns_any(p, tid))
		return 0;
	for (unsigned int i = 0; i < p->thread_count; i++) {
		const struct phase_open *open = backward_of(&p->threads[i]);

		if (!open || open->is_doubted)
			continue;
		if (stack_id || p->threads[i].tid == tid)
			return 0;
		stack_id = open->stack_id;
	}
	return stack_id;
}

static bool is_span_open(const struct phases *p, uint32_t span)
{
	for (unsigned int i = 0; i < p->thread_count; i++)
		for (uint32_t k = 0; k < p->threads[i].depth; k++)
			if (p->threads[i].open[k].span == span)
				return true;
	return false;
}

uint8_t phases_now(const struct phases *p, unsigned int device)
{
	const struct phase_line *line = phases_line(p, device);

	if (!line)
		return GMT_TRAINING_COUNT;
	switch ((enum gmt_training)line->now.phase) {
	case GMT_TRAINING_FORWARD:
		return line->now.is_training ? GMT_TRAINING_FORWARD : GMT_TRAINING_COUNT;
	case GMT_TRAINING_BACKWARD:
		return GMT_TRAINING_BACKWARD;
	default:
		/* Ranges, which say when they end; set_between() has no range. */
		return is_span_open(p, line->now.span) ? line->now.phase : GMT_TRAINING_COUNT;
	}
}

/* ---- blocks ---- */

static struct phase_line *ensure_line(struct phases *p, unsigned int device)
{
	if (device >= p->line_count) {
		p->lines = xreallocarray(p->lines, device + 1, sizeof(*p->lines));
		memset(&p->lines[p->line_count], 0, (device + 1 - p->line_count) * sizeof(*p->lines));
		p->line_count = device + 1;
	}
	return &p->lines[device];
}

/* The thread whose phase an event of the thread `tid` belongs to; NULL: that thread has begun nothing. */
static struct phase_thread *doer_of(struct phases *p, struct phase_line *line, struct phase_thread *own, uint32_t tid)
{
	struct phase_thread *owner = line->owner == tid ? own : find_thread(p, line->owner);

	if (!line->owner) {
		struct phase_thread *waiting = any_backward(p, tid);

		/* This is the device's first event. If the thread has begun nothing while another waits for a backward,
		 * the thread is autograd's, unless the waiting thread has a device of its own. */
		owner = own;
		if (!own && waiting && !owns_any(p, waiting->tid))
			owner = waiting;
		line->owner = owner ? owner->tid : tid;
	} else if (own && own != owner && !backward_of(owner)) {
		line->owner = tid;
		owner = own;
	}
	return owner != own && backward_of(owner) ? owner : own;
}

/* Begins the thread's open ranges on a device where the thread had no block before. */
static void begin_what_is_open(struct phases *p, unsigned int device, struct phase_thread *t)
{
	for (uint32_t i = 0; t && i < t->depth; i++)
		if (!(t->open[i].devices & bit_of(device)))
			begin_on(p, device, &t->open[i]);
}

static void count_in_ranges(struct phase_line *line, const struct phase_thread *t, int64_t delta)
{
	for (uint32_t i = 0; t && i < t->depth; i++)
		if (t->open[i].name < PHASES_NAMES_MAX)
			phase_line_block(line, PHASE_LINE_RANGE(t->open[i].name), delta);
}

/* ---- each function returns the phase in which a block is counted, and sets what the device is doing now ---- */

static enum gmt_training in_phase(struct phase_line *line, const struct phase_open *open)
{
	if (is_backward(open))
		begin_training(line);
	line->forward = 0;
	line->now.span = open->span;
	line->now.phase = open->phase;
	return open->phase;
}

static enum gmt_training in_forward(struct phases *p, struct phase_line *line)
{
	if (!line->forward) {
		line->forward = new_span(p);
		phase_line_begin(line, GMT_TRAINING_FORWARD);
	}
	line->now.span = line->forward;
	line->now.phase = GMT_TRAINING_FORWARD;
	return GMT_TRAINING_FORWARD;
}

/* For the thread that waits for a backward. If the thread allocates, the backward is over, or one of its nodes has
 * allocated. If the thread frees, the backward is most likely over, and the next phase has not begun. */
static enum gmt_training by_waiting(struct phases *p, struct phase_line *line, struct phase_open *backward,
				    int64_t delta)
{
	if (delta > 0)
		backward->is_doubted = true;
	if (backward->is_doubted && line->had_step)
		phase_line_next_iteration(line, p->now_ns);
	if (backward->is_doubted)
		return in_forward(p, line);
	set_between(line, backward->span);
	return GMT_TRAINING_BACKWARD;
}

/* For a thread of autograd's. What the thread frees after its backward seems to be over belonged to that backward. */
static enum gmt_training by_worker(struct phases *p, struct phase_line *line, struct phase_open *backward,
				   int64_t delta)
{
	if (delta > 0)
		backward->is_doubted = false;
	if (!backward->is_doubted)
		return in_phase(line, backward);
	in_forward(p, line);
	line->now.span = backward->span;
	line->now.phase = GMT_TRAINING_BACKWARD;
	return GMT_TRAINING_FORWARD;
}

struct training_moment phases_block(struct phases *p, unsigned int device, uint32_t tid, int64_t delta, uint64_t total)
{
	struct phase_line *line = ensure_line(p, device);
	struct phase_thread *own = find_thread(p, tid), *doer = doer_of(p, line, own, tid);
	struct phase_open *open = phase_of(own);
	enum gmt_training phase;

	line->live = total - delta;
	begin_what_is_open(p, device, own);
	begin_what_is_open(p, device, doer);
	if (open && !is_backward(open))
		phase = in_phase(line, open);
	else if (doer && doer != own && backward_of(doer))
		phase = by_worker(p, line, backward_of(doer), delta);
	else if (open)
		phase = by_waiting(p, line, open, delta);
	else if (delta < 0 && line->had_backward && line->now.span % 2) /* set_between() */
		/* Nothing has begun since the backward: the program frees the backward's result, which it held. */
		phase = GMT_TRAINING_BACKWARD;
	else
		phase = in_forward(p, line);
	line->live = total;
	phase_line_block(line, phase, delta);
	count_in_ranges(line, doer, delta);
	if (own != doer)
		count_in_ranges(line, own, delta);
	return line->now;
}
