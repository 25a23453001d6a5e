// SPDX-License-Identifier: BSD-2-Clause
#include "core/timeline/series_merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "core/timeline/series_parts.h"

#define STRIDE_MAX (1u << 31)

/* How many frames of a kind stay when there are too many: so many, and where there is little room such a part of all,
 * so that moments leave room for the past. TIME has no bound of its own. */
static uint64_t frames_of_kind(const struct series *s, enum series_why why)
{
	static const struct { uint32_t most, part; } kinds[SERIES_WHY_COUNT] = {
		[SERIES_TIME] = { UINT32_MAX, 0 },
		[SERIES_ITERATION] = { SERIES_ITERATIONS_MAX, 4 },
		[SERIES_MARK] = { SERIES_MARKS_MAX, 16 },
		[SERIES_REQUEST] = { SERIES_REQUESTS_MAX, 16 },
		[SERIES_BASELINE] = { SERIES_BASELINES_MAX, 16 },
		[SERIES_PEAK] = { SERIES_PEAKS_MAX, 16 },
	};
	uint64_t most = kinds[why].part ? s->frames_most / kinds[why].part : UINT32_MAX;

	return most < kinds[why].most ? most : kinds[why].most;
}

static void make_common(struct series *s, struct series_frame *frame)
{
	s->by_why[frame->why]--;
	s->left_out[frame->why]++;
	frame->why = SERIES_TIME;
	frame->number = 0;
	s->by_why[SERIES_TIME]++;
}

/* Every second end of an iteration has no frame of its own any longer; in the end, none has. */
static void thin_iterations(struct series *s)
{
	bool is_last = s->stride == STRIDE_MAX;

	s->stride *= is_last ? 1 : 2;
	for (uint32_t i = 0; i < s->frame_count; i++)
		if (s->frames[i].why == SERIES_ITERATION && (is_last || s->frames[i].number % s->stride))
			make_common(s, &s->frames[i]);
}

static void thin_oldest(struct series *s, enum series_why why)
{
	uint32_t keep = s->by_why[why] / 2;

	for (uint32_t i = 0; i < s->frame_count && s->by_why[why] > keep; i++)
		if (s->frames[i].why == why)
			make_common(s, &s->frames[i]);
}

static void thin_kind(struct series *s, enum series_why why)
{
	if (why == SERIES_ITERATION)
		thin_iterations(s);
	else
		thin_oldest(s, why);
}

static void thin_moments(struct series *s, bool all)
{
	for (enum series_why why = SERIES_TIME + 1; why < SERIES_WHY_COUNT; why++) {
		if (all && s->by_why[why])
			thin_kind(s, why);
		while (s->by_why[why] > frames_of_kind(s, why))
			thin_kind(s, why);
	}
}

/* The points of two frames that follow each other as those of the second, into a list with room. Their count. */
static uint32_t merge_points(const struct series_point *a, uint32_t a_count, const struct series_point *b,
			     uint32_t b_count, struct series_point *out)
{
	const struct series_point *a_end = a + a_count, *b_end = b + b_count;
	uint32_t count = 0;

	for (; a < a_end || b < b_end; count++) {
		if (b == b_end || (a < a_end && a->key < b->key)) {
			out[count] = *a++;
			continue;
		}
		out[count] = *b;
		if (a < a_end && a->key == b->key) {
			out[count].least = a->least < b->least ? a->least : b->least;
			out[count].most = a->most > b->most ? a->most : b->most;
			a++;
		}
		b++;
	}
	return count;
}

/* The frame before takes in the time of this frame, which becomes one with it. */
static void join_frames(struct series_frame *into, const struct series_frame *later, uint32_t count)
{
	uint64_t first = into->first, least = into->least, most = into->most;

	*into = *later;
	into->first = first;
	into->count = count;
	into->least = least < later->least ? least : later->least;
	into->most = most > later->most ? most : later->most;
}

static bool are_one(const struct series *s, const struct series_frame *a, const struct series_frame *b)
{
	return a->why == SERIES_TIME && series_slot(s, a->ts_ns) == series_slot(s, b->ts_ns);
}

/* Merges each frame of time with the next one of the same slot, in place: what is written never passes what is read. */
static void merge_slots(struct series *s)
{
	struct series_point *joined = xreallocarray(NULL, (size_t)s->key_count + 1, sizeof(*joined));
	uint64_t point_count = 0;
	uint32_t frame_count = 0;

	for (uint32_t i = 0; i < s->frame_count; i++) {
		struct series_frame frame = s->frames[i], *last = frame_count ? &s->frames[frame_count - 1] : NULL;
		const struct series_point *from = &s->points[frame.first];

		if (last && are_one(s, last, &frame)) {
			uint32_t count = merge_points(&s->points[last->first], last->count, from, frame.count, joined);

			s->by_why[SERIES_TIME]--;
			join_frames(last, &frame, count);
			series_parts_join(s, frame_count - 1, i);
			from = joined;
		} else {
			series_parts_move(s, frame_count, i);
			last = &s->frames[frame_count++];
			*last = frame;
			last->first = point_count;
		}
		memmove(&s->points[last->first], from, last->count * sizeof(*from));
		point_count = last->first + last->count;
	}
	free(joined);
	series_parts_move(s, frame_count, s->frame_count);
	s->point_count = point_count;
	s->frame_count = frame_count;
}

static bool is_too_long(const struct series *s)
{
	return s->point_count > s->points_most / 2 || s->frame_count > s->frames_most / 2;
}

void series_fit(struct series *s, enum series_why why)
{
	if (s->by_why[why] > frames_of_kind(s, why))
		thin_moments(s, false);
	if (s->point_count <= s->points_most && s->frame_count <= s->frames_most)
		return;
	/* Moments begin frames of their own, which may fit into the slots of today. */
	merge_slots(s);
	while (is_too_long(s) && s->frame_count > 1) {
		/* Where most frames are moments, longer slots do not help. */
		if (s->by_why[SERIES_TIME] < s->frame_count / 2 || s->shift == SERIES_SHIFT_MAX)
			thin_moments(s, true);
		if (s->shift < SERIES_SHIFT_MAX)
			s->shift++;
		merge_slots(s);
	}
}
