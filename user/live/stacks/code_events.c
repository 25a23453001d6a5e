// SPDX-License-Identifier: BSD-2-Clause
#include "live/stacks/code_events.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

static void drop_oldest(struct code_events *events, size_t count)
{
	events->floor = events->list[count - 1].number;
	events->count -= count;
	memmove(events->list, events->list + count, events->count * sizeof(*events->list));
}

void code_events_add(struct code_events *events, const struct gmt_code_mapped *mapped)
{
	if (mapped->number != events->last + 1) { /* the first one, or others were lost */
		events->count = 0;
		events->floor = mapped->number - 1;
	}
	if (events->count == CODE_EVENTS_MAX)
		drop_oldest(events, CODE_EVENTS_MAX / 2);
	events->list = xgrow(events->list, events->count, sizeof(*events->list));
	events->list[events->count++] = (struct code_event){
		.start = mapped->start, .end = mapped->end, .number = mapped->number, .has_file = mapped->has_file,
	};
	events->last = mapped->number;
}

void code_events_fini(struct code_events *events)
{
	free(events->list);
	*events = (struct code_events){ 0 };
}

bool code_events_reach(const struct code_events *events, uint32_t number)
{
	return number <= 1 || events->last >= number;
}

bool code_events_changed(const struct code_events *events, uint32_t from, uint32_t to, uint64_t address,
			 bool has_file)
{
	if (!from || !to || from >= to)
		return false;
	if (from < events->floor || !code_events_reach(events, to))
		return true;
	for (size_t i = events->count; i && events->list[i - 1].number > from; i--) {
		const struct code_event *event = &events->list[i - 1];

		if (event->number <= to && address >= event->start && address < event->end &&
		    (has_file || event->has_file))
			return true;
	}
	return false;
}
