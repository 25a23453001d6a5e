// SPDX-License-Identifier: BSD-2-Clause
/* When a training was in which phase: the time in each is exact, however many spans became one. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <malloc.h>
#include <stdlib.h>

#include "base/hash.h"
#include "core/timeline/phase_spans.h"

#define MS 1000000ULL
#define NOTES 100000

static void spans_follow_phases(void **state)
{
	struct phase_spans s;
	struct view_phases seen;

	(void)state;
	phase_spans_init(&s, 0);
	seen = phase_spans_view(&s);
	assert_true(!seen.count && !seen.list);
	phase_spans_note(&s, PHASE_SPANS_NONE, 1 * MS);
	phase_spans_note(&s, GMT_TRAINING_FORWARD, 2 * MS);
	phase_spans_note(&s, GMT_TRAINING_FORWARD, 3 * MS);
	phase_spans_note(&s, GMT_TRAINING_BACKWARD, 5 * MS);
	phase_spans_note(&s, PHASE_SPANS_NONE, 6 * MS);
	phase_spans_note(&s, GMT_TRAINING_BACKWARD, 8 * MS);
	phase_spans_note(&s, GMT_TRAINING_FORWARD, 7 * MS);   /* time does not go back */
	phase_spans_note(&s, GMT_TRAINING_BACKWARD, 9 * MS);
	seen = phase_spans_view(&s);
	assert_true(seen.count == 3 && !seen.merged);
	assert_true(seen.list[0].from_ns == 2 * MS && seen.list[0].until_ns == 5 * MS);
	assert_true(seen.list[0].in_ns[GMT_TRAINING_FORWARD] == 3 * MS && !seen.list[0].in_ns[GMT_TRAINING_BACKWARD]);
	assert_true(seen.list[1].until_ns == 6 * MS && seen.list[1].in_ns[GMT_TRAINING_BACKWARD] == 1 * MS);
	assert_true(seen.list[2].until_ns == 9 * MS && seen.list[2].in_ns[GMT_TRAINING_BACKWARD] == 1 * MS);
	free(seen.list);
	phase_spans_fini(&s);
}

struct model {
	uint8_t phase[NOTES];
	uint64_t ts_ns[NOTES + 1];
};

/* Each span begins and ends where a phase did, and has the time in each phase in between. */
static void check_spans(const struct view_phases *seen, const struct model *m)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < seen->count; i++) {
		const struct phase_span *span = &seen->list[i];
		uint64_t in_ns[GMT_TRAINING_COUNT + 1] = { 0 };

		assert_true(!i || span->from_ns >= span[-1].until_ns);
		while (at < NOTES && m->ts_ns[at] < span->from_ns)
			assert_int_equal(m->phase[at++], PHASE_SPANS_NONE);
		assert_int_equal(m->ts_ns[at], span->from_ns);
		for (; at < NOTES && m->ts_ns[at] < span->until_ns; at++)
			in_ns[m->phase[at]] += m->ts_ns[at + 1] - m->ts_ns[at];
		for (unsigned int phase = 0; phase < GMT_TRAINING_COUNT; phase++)
			assert_int_equal(span->in_ns[phase], in_ns[phase]);
	}
}

static void many_spans_are_merged(void **state)
{
	struct model *m = calloc(1, sizeof(*m));
	struct phase_spans s;
	struct view_phases seen;
	uint64_t spans = 0, ts = MS;
	size_t before;

	(void)state;
	phase_spans_init(&s, 1 << 10);
	for (uint32_t i = 0; i < NOTES; i++) {
		uint64_t random = hash_mix(i + 1);

		ts += 1 + random % (random % 7 ? 100000 : 30000000);
		m->ts_ns[i] = ts;
		m->phase[i] = (uint8_t)(random >> 32) % (GMT_TRAINING_COUNT + 1);
		spans += m->phase[i] != PHASE_SPANS_NONE && (!i || m->phase[i] != m->phase[i - 1]);
		phase_spans_note(&s, m->phase[i], ts);
		assert_true(s.count <= 1 << 10);
	}
	m->ts_ns[NOTES] = ts += MS;
	phase_spans_note(&s, PHASE_SPANS_NONE, ts);
	seen = phase_spans_view(&s);
	assert_true(seen.count > 1 << 7 && seen.merged + seen.count == spans);
	check_spans(&seen, m);
	free(seen.list);
	before = malloc_usable_size(s.list);
	phase_spans_limit(&s, 0);
	print_message("%u spans, then %u\n", seen.count, s.count);
	assert_true(s.count <= PHASE_SPANS_MIN && s.count > PHASE_SPANS_MIN / 4);
	assert_true(malloc_usable_size(s.list) <= before / 8);
	seen = phase_spans_view(&s);
	check_spans(&seen, m);
	free(seen.list);
	phase_spans_note(&s, GMT_TRAINING_FORWARD, ts + 1);
	phase_spans_fini(&s);
	free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans_follow_phases),
		cmocka_unit_test(many_spans_are_merged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
