// SPDX-License-Identifier: BSD-2-Clause
#include "core/snapshot/snapshot_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "core/history/history.h"

/* Numbers, of which none is set. */
static uint64_t *make_numbers(uint64_t count)
{
	uint64_t *numbers = xcalloc(count + 1, sizeof(*numbers));

	memset(numbers, 0xff, (count + 1) * sizeof(*numbers));
	return numbers;
}

static void index_events(struct snapshot_index *x)
{
	const struct history *h = x->h;

	x->newest_event = make_numbers(h->process_count);
	x->event_before = make_numbers(h->next - h->first);
	for (uint64_t n = h->first; n < h->next; n++) {
		uint64_t *newest = &x->newest_event[history_event(h, n)->process];

		x->event_before[n - h->first] = *newest;
		*newest = n;
	}
}

static void index_marks(struct snapshot_index *x)
{
	const struct history_marks *m = &x->h->marks;
	uint64_t first = history_marks_first(m);

	x->oldest_mark = make_numbers(x->h->process_count);
	x->mark_after = make_numbers(m->next - first);
	for (uint64_t n = m->next; n-- > first;) {
		uint64_t *oldest = &x->oldest_mark[history_marks_at(m, n)->process];

		x->mark_after[n - first] = *oldest;
		*oldest = n;
	}
}

void snapshot_index_init(struct snapshot_index *x, const struct history *h)
{
	*x = (struct snapshot_index){ .h = h };
	births_init(&x->births, h, h->next);
	index_events(x);
	index_marks(x);
}

void snapshot_index_fini(struct snapshot_index *x)
{
	births_fini(&x->births);
	free(x->newest_event);
	free(x->event_before);
	free(x->oldest_mark);
	free(x->mark_after);
}
