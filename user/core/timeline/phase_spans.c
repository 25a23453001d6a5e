// SPDX-License-Identifier: BSD-2-Clause
#include "core/timeline/phase_spans.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

#define FIRST_SHIFT 20               /* a slot of about a millisecond */
#define SHIFT_MAX 63

void phase_spans_init(struct phase_spans *s, uint64_t most)
{
	*s = (struct phase_spans){ .shift = FIRST_SHIFT, .phase = PHASE_SPANS_NONE };
	phase_spans_limit(s, most);
}

void phase_spans_fini(struct phase_spans *s)
{
	free(s->list);
	*s = (struct phase_spans){ 0 };
}

static void join_spans(struct phase_span *into, const struct phase_span *later)
{
	into->until_ns = later->until_ns;
	for (unsigned int i = 0; i < GMT_TRAINING_COUNT; i++)
		into->in_ns[i] += later->in_ns[i];
}

/* The newest span stays alone, because it may go on. */
static void merge_slots_of_time(struct phase_spans *s)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < s->count; i++) {
		struct phase_span *last = kept ? &s->list[kept - 1] : NULL;

		if (last && i + 1 < s->count && last->from_ns >> s->shift == s->list[i].from_ns >> s->shift) {
			join_spans(last, &s->list[i]);
			s->merged++;
		} else {
			s->list[kept++] = s->list[i];
		}
	}
	s->count = kept;
}

static void fit_spans(struct phase_spans *s, uint32_t most)
{
	/* What came last may fit into the slots of today. */
	merge_slots_of_time(s);
	while (s->count > most) {
		s->shift += s->shift < SHIFT_MAX;
		merge_slots_of_time(s);
	}
}

void phase_spans_limit(struct phase_spans *s, uint64_t most)
{
	most = most < PHASE_SPANS_MIN ? PHASE_SPANS_MIN : most;
	s->most = most < PHASE_SPANS_MAX ? (uint32_t)most : PHASE_SPANS_MAX;
	if (s->count <= s->most)
		return;
	fit_spans(s, s->most);
	s->list = xfit(s->list, s->count, sizeof(*s->list));
}

void phase_spans_note(struct phase_spans *s, uint8_t phase, uint64_t ts_ns)
{
	if (ts_ns < s->seen_ns)
		return;
	s->seen_ns = ts_ns;
	if (phase == s->phase)
		return;
	if (s->phase != PHASE_SPANS_NONE) {
		s->list[s->count - 1].in_ns[s->phase] += ts_ns - s->since_ns;
		s->list[s->count - 1].until_ns = ts_ns;
	}
	s->phase = phase;
	s->since_ns = ts_ns;
	if (phase == PHASE_SPANS_NONE)
		return;
	if (s->count == s->most)
		fit_spans(s, s->most / 2);
	s->list = xgrow(s->list, s->count, sizeof(*s->list));
	s->list[s->count++] = (struct phase_span){ .from_ns = ts_ns, .until_ns = ts_ns };
}

struct view_phases phase_spans_view(const struct phase_spans *s)
{
	struct view_phases out = { .count = s->count, .merged = s->merged };

	if (!s->count)
		return out;
	out.list = xreallocarray(NULL, s->count, sizeof(*out.list));
	memcpy(out.list, s->list, s->count * sizeof(*out.list));
	if (s->phase != PHASE_SPANS_NONE) {
		out.list[s->count - 1].in_ns[s->phase] += s->seen_ns - s->since_ns;
		out.list[s->count - 1].until_ns = s->seen_ns;
	}
	return out;
}
