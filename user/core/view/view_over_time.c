// SPDX-License-Identifier: BSD-2-Clause
#include "core/view/view_over_time.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "core/framework/framework.h"
#include "core/ledger/process.h"
#include "core/timeline/series_of_key.h"
#include "core/timeline/series_parts.h"
#include "core/timeline/series_peak.h"

/* A copy of `count` items, with room as xgrow() expects. */
static void *copy_items(const void *items, size_t count, size_t size)
{
	void *copy = xfit(NULL, count, size);

	if (count)
		memcpy(copy, items, count * size);
	return copy;
}

/* A copy that ends now, with frames, points and parts of its own. */
static struct series copy_ended(struct series *s)
{
	struct series copy;

	series_close(s);
	copy = *s;
	copy.frames = copy_items(s->frames, s->frame_count, sizeof(*s->frames));
	copy.points = copy_items(s->points, s->point_count, sizeof(*s->points));
	if (s->parts)
		copy.parts = copy_items(s->parts, s->frame_count + 1u, sizeof(*s->parts));
	copy.parts_room = s->frame_count + 1;
	return copy;
}

void view_series_take(struct series *s, struct by_stack *b, const struct hash *segments, struct view_series *out)
{
	*out = (struct view_series){
		.key_count = s->key_count, .frame_count = s->frame_count, .frames = s->frames, .points = s->points,
		.parts = s->parts, .keys = xcalloc(s->key_count + 1u, sizeof(*out->keys)),
		.peak = s->sums.peak, .peak_ts_ns = s->sums.peak_ts_ns,
		.slot_ns = s->shift < SERIES_SHIFT_MAX ? 1ULL << s->shift : UINT64_MAX,
		.keys_merged = s->keys_merged,
	};
	memcpy(out->left_out, s->left_out, sizeof(out->left_out));
	for (uint32_t i = 0; i < s->key_count; i++)
		out->keys[i] = (struct view_series_key){
			.stack = b ? by_stack_show(b, s->keys[i].stack_id) : 0,
			.asked = b ? by_stack_show_waiting(b, s->keys[i].stack_id) : 0,
			.is_segment = segments && hash_get(segments, s->keys[i].stack_id),
			.what = s->keys[i].what, .at_peak = series_at_peak(s, i),
		};
	s->frames = NULL;
	s->points = NULL;
	s->parts = NULL;
	s->frame_count = 0;
	s->point_count = 0;
}

static void show_calls(struct series *s, struct by_stack *b, const struct hash *segments, struct view_series *out)
{
	struct series copy = copy_ended(s);

	series_put_peak(&copy);
	view_series_take(&copy, b, segments, out);
}

/* Where no call was seen: what the kernel gave, or else NVML's number. */
static void show_bare(struct series *levels, const struct row *row, struct by_stack *b, struct view_series *out)
{
	bool has_physical = row->physical.peak;
	struct series bare;

	series_close(levels);
	bare = series_of_key(levels, has_physical ? TIMELINE_PHYSICAL : TIMELINE_NVML, row->physical.peak,
			     row->physical.peak_ts_ns);
	for (uint32_t i = 0; i < bare.key_count; i++)
		bare.keys[i].what = has_physical ? TIMELINE_DRIVER : TIMELINE_TOLD;
	series_put_peak(&bare);
	view_series_take(&bare, b, NULL, out);
	series_fini(&bare);
}

/* The sum of levels has no meaning, and no peak. */
static void show_levels(struct series *s, struct view_series *out)
{
	struct series copy = copy_ended(s);

	view_series_take(&copy, NULL, NULL, out);
}

/* Live blocks are for what they seem to be for now; the frames of the series end here. */
static void add_live_blocks(struct series *copy, const struct framework *f, const struct frames *frames,
			    unsigned int ordinal)
{
	struct rangemap_pos pos = { 0 };
	const struct range *block;

	while ((block = rangemap_next(&f->blocks, &pos)))
		if ((unsigned int)block->gpu == ordinal && !(block->aux & BLOCK_LOST) && block->offset)
			series_part(copy, framework_purpose(frames, block, framework_category(f, block, true)),
				    block->length, block->offset, SERIES_NOW);
}

static void show_blocks(struct timeline_device *device, struct by_stack *b, const struct framework *f,
			const struct frames *frames, unsigned int ordinal, struct view_series *out)
{
	struct series copy = copy_ended(&device->blocks);

	if (!device->has_returned)
		add_live_blocks(&copy, f, frames, ordinal);
	series_put_peak(&copy);
	view_series_take(&copy, b, NULL, out);
}

/* The keys of `out` are those of the series, in the same order. */
static void set_purposes(const struct series *s, const struct view_training *training, struct view_series *out)
{
	struct hash purposes;   /* uint8_t, by the stack's id: the last one is that with the most bytes */

	hash_init(&purposes, sizeof(uint8_t));
	for (size_t i = 0; i < training->purpose_count; i++) {
		const struct view_purpose *from = &training->purposes[i];

		*(uint8_t *)hash_put(&purposes, from->stack_id, NULL) = 1 + from->category;
	}
	for (uint32_t i = 0; i < s->key_count; i++) {
		const uint8_t *purpose = hash_get(&purposes, s->keys[i].stack_id);

		out->keys[i].purpose = purpose ? *purpose : 0;
	}
	hash_fini(&purposes);
}

struct view_timeline *view_over_time(const struct timeline *t, const struct process *p, unsigned int row,
				     const struct framework *f, const struct frames *frames,
				     const struct view_training *training, struct by_stack *b)
{
	unsigned int ordinal = framework_device_number(f, row);
	const struct timeline_process *tp = t ? timeline_find(t, p) : NULL;
	bool has_line = tp && row < tp->line_count && tp->lines[row];
	struct view_timeline *out;

	if (!has_line)
		return NULL;
	out = xcalloc(1, sizeof(*out));
	out->has_blocks = ordinal < tp->device_count && tp->devices[ordinal];
	out->is_bare = !process_has_calls(p) || (!tp->lines[row]->calls.key_count && !out->has_blocks);
	if (out->is_bare && !tp->lines[row]->calls.key_count)
		show_bare(&tp->lines[row]->levels, &p->account.rows[row], b, &out->calls);
	else
		show_calls(&tp->lines[row]->calls, b, framework_segment_stacks(f), &out->calls);
	show_levels(&tp->lines[row]->levels, &out->levels);
	if (out->has_blocks) {
		show_blocks(tp->devices[ordinal], b, f, frames, ordinal, &out->blocks);
		out->phases = phase_spans_view(&tp->devices[ordinal]->phases);
		set_purposes(&tp->devices[ordinal]->blocks, training, &out->blocks);
	}
	return out;
}
