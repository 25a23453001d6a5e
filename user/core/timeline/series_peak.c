// SPDX-License-Identifier: BSD-2-Clause
#include "core/timeline/series_peak.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "core/timeline/series_parts.h"

static void apply_points(const struct series *s, const struct series_frame *frame, uint64_t *live)
{
	for (uint32_t i = 0; i < frame->count; i++)
		live[s->points[frame->first + i].key] = s->points[frame->first + i].live;
}

/* Whether the peak can lie between the frame before, at which keys held `live`, and this frame. */
static bool has_peak_within(const struct series *s, const struct series_frame *frame, const uint64_t *live)
{
	const struct series_point *point = &s->points[frame->first], *end = point + frame->count;

	if (frame->most < s->sums.peak)
		return false;
	for (uint32_t key = 0; key < s->key_count; key++) {
		uint64_t held = series_at_peak(s, key);
		bool has_point = point < end && point->key == key;

		if (has_point ? held < point->least || held > point->most : held != live[key])
			return false;
		point += has_point;
	}
	return true;
}

/* The frame at the end of the span in which the peak was; frame_count: none. Several frames may have one time. */
static uint32_t frame_behind_peak(const struct series *s)
{
	uint64_t *live = xcalloc(s->key_count + 1u, sizeof(*live));
	uint32_t found = s->frame_count;

	for (uint32_t i = 0; i < s->frame_count && found == s->frame_count; i++) {
		const struct series_frame *frame = &s->frames[i];

		if (frame->ts_ns >= s->sums.peak_ts_ns && has_peak_within(s, frame, live))
			found = i;
		if (frame->ts_ns > s->sums.peak_ts_ns)
			break;
		apply_points(s, frame, live);
	}
	free(live);
	return found;
}

static bool is_the_peak(const struct series *s, const struct series_frame *frame)
{
	if (frame->live != s->sums.peak)
		return false;
	for (uint32_t i = 0; i < frame->count; i++)
		if (s->points[frame->first + i].live != series_at_peak(s, s->points[frame->first + i].key))
			return false;
	return true;
}

/* The same points as in the frame behind, with their bounds, before that frame's. */
static void insert_points(struct series *s, uint64_t first, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++, s->point_count++)
		s->points = xgrow(s->points, s->point_count, sizeof(*s->points));
	memmove(&s->points[first + count], &s->points[first], (s->point_count - count - first) * sizeof(*s->points));
	for (uint32_t i = 0; i < count; i++)
		s->points[first + i].live = series_at_peak(s, s->points[first + i].key);
}

/* Where two frames have one time, only the later one shows: the peak is before. */
static uint64_t time_of_peak(const struct series *s, uint32_t behind)
{
	uint64_t ts = s->sums.peak_ts_ns, before = behind ? s->frames[behind - 1].ts_ns : 0;

	return ts == s->frames[behind].ts_ns && ts > before + 1 ? ts - 1 : ts;
}

static void insert_frame(struct series *s, uint32_t behind)
{
	struct series_frame peak = s->frames[behind];

	peak.ts_ns = time_of_peak(s, behind);
	peak.live = s->sums.peak;
	peak.number = 0;
	peak.why = SERIES_PEAK;
	insert_points(s, peak.first, peak.count);
	s->frames = xgrow(s->frames, s->frame_count, sizeof(*s->frames));
	memmove(&s->frames[behind + 1], &s->frames[behind], (s->frame_count - behind) * sizeof(*s->frames));
	s->frames[behind] = peak;
	s->frame_count++;
	for (uint32_t i = behind + 1; i < s->frame_count; i++)
		s->frames[i].first += peak.count;
	series_parts_insert(s, behind);
	s->by_why[SERIES_PEAK]++;
}

void series_put_peak(struct series *s)
{
	uint32_t behind = s->sums.peak ? frame_behind_peak(s) : s->frame_count;

	if (behind < s->frame_count && !is_the_peak(s, &s->frames[behind]))
		insert_frame(s, behind);
}
