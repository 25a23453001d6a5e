/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/framework/phase_line.h"

#include <stdlib.h>

#include "base/xalloc.h"

void phase_line_fini(struct phase_line *line)
{
	free(line->iterations);
	free(line->ranges);
}

static struct phase_iteration *current_iteration(struct phase_line *line)
{
	struct phase_iteration *it;

	if (!line->iterations)
		line->iterations = xcalloc(PHASES_ITERATIONS, sizeof(*line->iterations));
	if (!line->now.iteration)
		line->now.iteration = 1;
	it = &line->iterations[line->now.iteration % PHASES_ITERATIONS];
	if (it->number != line->now.iteration)
		*it = (struct phase_iteration){ .number = line->now.iteration };
	return it;
}

static struct phase_cell *cell_of(struct phase_line *line, unsigned int place)
{
	if (place < GMT_TRAINING_COUNT)
		return &current_iteration(line)->cells[place];
	if (!line->ranges)
		line->ranges = xcalloc(PHASES_NAMES_MAX, sizeof(*line->ranges));
	return &line->ranges[place - GMT_TRAINING_COUNT];
}

static void update_cell(struct phase_cell *cell, uint64_t live, int64_t delta)
{
	cell->end = live;
	if (live > cell->peak)
		cell->peak = live;
	if (delta > 0)
		cell->alloc_bytes += delta;
}

void phase_line_begin(struct phase_line *line, unsigned int place)
{
	struct phase_cell *cell = cell_of(line, place);

	if (!cell->times++ || place >= GMT_TRAINING_COUNT)
		cell->begin = line->live;
	update_cell(cell, line->live, 0);
}

void phase_line_end_range(struct phase_line *line, unsigned int name)
{
	struct phase_cell *cell = cell_of(line, PHASE_LINE_RANGE(name));

	if (cell->times)
		update_cell(cell, line->live, 0);
}

void phase_line_block(struct phase_line *line, unsigned int place, int64_t delta)
{
	struct phase_cell *cell = cell_of(line, place);

	/* A place that began before the device was known begins with its first block. */
	if (!cell->times) {
		cell->times = 1;
		cell->begin = cell->peak = line->live - delta;
	}
	update_cell(cell, line->live, delta);
}

void phase_line_next_iteration(struct phase_line *line, uint64_t now_ns)
{
	struct phase_iteration *it = current_iteration(line);

	it->is_over = true;
	it->end = line->live;
	it->end_ns = now_ns;
	/* The first iteration makes the memory that stays, so growth is not measured from its beginning. */
	if (it->number > 1)
		rises_add(&line->rises, it->number, it->end, now_ns);
	line->now.iteration++;
	line->forward = 0;
	line->had_backward = line->had_step = false;
}

const struct phase_iteration *phase_line_iteration(const struct phase_line *line, uint32_t number)
{
	const struct phase_iteration *it = line->iterations ? &line->iterations[number % PHASES_ITERATIONS] : NULL;

	return it && number && it->number == number ? it : NULL;
}

/* In each of the newest iterations. */
static struct view_growth steady_growth_of(const struct phase_line *line)
{
	const struct phase_iteration *last = phase_line_iteration(line, line->now.iteration - 1), *it = last, *before;
	uint32_t count = 0;

	/* As in phase_line_next_iteration(). */
	while (it && it->number > 2 && (before = phase_line_iteration(line, it->number - 1)) &&
	       it->end > before->end) {
		it = before;
		count++;
	}
	if (count < PHASES_GROWTH_MIN)
		return (struct view_growth){ 0 };
	return (struct view_growth){
		.bytes = (last->end - it->end) / count, .count = count, .iterations = count,
		.time_ns = last->end_ns > it->end_ns ? last->end_ns - it->end_ns : 0, .end_ns = last->end_ns,
	};
}

struct view_growth phase_line_growth(const struct phase_line *line)
{
	struct view_growth steady = steady_growth_of(line), rises = rises_growth(&line->rises);

	/* A number that each iteration logs must not hide more that comes seldom. */
	return rises.count && rises.bytes * rises.count > steady.bytes * steady.count ? rises : steady;
}
