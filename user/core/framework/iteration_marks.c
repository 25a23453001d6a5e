// SPDX-License-Identifier: BSD-2-Clause
#include "core/framework/iteration_marks.h"

#define ITERATIONS_SKIPPED 1         /* they make the model and the state of the optimizer */

static unsigned int set_iteration_mark(struct iteration_marks *m, struct stacks *stacks, unsigned int place)
{
	stacks_mark(stacks, STACKS_PROCESS_MARKS + place);
	m->of[place] = m->newest;
	return STACKS_PROCESS_MARKS + place;
}

unsigned int iteration_marks_end(struct iteration_marks *m, struct stacks *stacks, uint32_t iteration)
{
	unsigned int mark;

	if (iteration <= ITERATIONS_SKIPPED || iteration <= m->newest)
		return STACKS_MARKS;
	m->newest = iteration;
	if (!m->has_begun) {
		m->has_begun = true;
		m->next = 1;
		return set_iteration_mark(m, stacks, m->first);
	}
	mark = set_iteration_mark(m, stacks, m->next);
	if (iteration - m->of[m->middle] < ITERATION_MARKS_SPAN)
		return mark;
	/* The mark that is set now stays, and the place of the first is free. */
	uint8_t free_place = m->first == m->middle ? 2 : m->first;

	m->first = m->middle;
	m->middle = m->next;
	m->next = free_place;
	return mark;
}

struct iteration_span iteration_marks_span(const struct iteration_marks *m)
{
	/* Right after a change of places, the newest mark is the middle one. */
	unsigned int last = m->of[m->next] > m->of[m->middle] ? m->next : m->middle;

	return (struct iteration_span){
		.from = STACKS_AT_MARK + STACKS_PROCESS_MARKS + m->first,
		.to = STACKS_AT_MARK + STACKS_PROCESS_MARKS + last,
		.iterations = m->of[last] - m->of[m->first],
	};
}
