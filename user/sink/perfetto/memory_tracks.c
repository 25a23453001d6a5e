// SPDX-License-Identifier: BSD-2-Clause
#include "sink/perfetto/memory_tracks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "core/terms/names.h"

#define NAME_BYTES 192
#define PART_BYTES 64

/* A track with a value that changes from frame to frame. Its highest value is known besides, with its time. */
struct counter {
	uint64_t track;          /* 0: nothing is shown */
	uint64_t value, shown;
	bool has_shown, has_peak;
	uint64_t peak, peak_ns;
};

static struct counter add_counter(struct trace_writer *w, uint64_t process_track, const char *gpu, const char *what)
{
	char name[NAME_BYTES];

	snprintf(name, sizeof(name), "%s %s", gpu, what);
	return (struct counter){ .track = trace_track(w, process_track, TRACE_BYTES, name) };
}

static void set_peak(struct counter *c, uint64_t peak, uint64_t peak_ns)
{
	c->has_peak = peak && peak_ns;
	c->peak = peak;
	c->peak_ns = peak_ns;
}

static void put_value(struct trace_writer *w, struct counter *c, uint64_t ts_ns, uint64_t value)
{
	if (!c->track || (c->has_shown && c->shown == value))
		return;
	trace_counter(w, c->track, ts_ns, value);
	c->has_shown = true;
	c->shown = value;
}

/* The value at a frame, and before it the highest value, if its time has come. */
static void show_counter(struct trace_writer *w, struct counter *c, uint64_t ts_ns)
{
	if (c->has_peak && c->peak_ns <= ts_ns) {
		put_value(w, c, c->peak_ns, c->peak);
		c->has_peak = false;
	}
	put_value(w, c, ts_ns, c->value);
}

/* ---- sums by what memory is ---- */

static const char *class_text(unsigned int what)
{
	return gmt_class_text(what);
}

static const char *level_text(unsigned int what)
{
	static const char *const texts[TIMELINE_LEVEL_COUNT] = {
		[TIMELINE_PHYSICAL] = "by the kernel driver", [TIMELINE_NVML] = "by NVML",
		[TIMELINE_RESERVED] = "reserved by the framework",
	};

	return texts[what];
}

_Static_assert((int)GMT_CLASS_COUNT <= 64 && (int)TIMELINE_LEVEL_COUNT <= 64, "a bit for each");

/* A counter for each of the `count` things that keys of the series are; those that never hold anything have none. */
static void add_key_counters(struct trace_writer *w, uint64_t process_track, const char *gpu,
			     const struct view_series *s, unsigned int count, const char *(*text)(unsigned int what),
			     struct counter *counters)
{
	uint64_t used = 0;

	for (uint32_t i = 0; i < s->frame_count; i++)
		for (uint32_t n = 0; n < s->frames[i].count; n++) {
			const struct series_point *point = &s->points[s->frames[i].first + n];

			if (point->most)
				used |= 1ULL << s->keys[point->key].what;
		}
	for (unsigned int what = 0; what < count; what++)
		if (used >> what & 1)
			counters[what] = add_counter(w, process_track, gpu, text(what));
}

static void show_key_counters(struct trace_writer *w, const struct view_series *s, unsigned int count,
			      struct counter *counters)
{
	uint64_t *live = xcalloc(s->key_count + 1u, sizeof(*live));

	for (uint32_t i = 0; i < s->frame_count; i++) {
		const struct series_frame *f = &s->frames[i];

		for (uint32_t n = 0; n < f->count; n++) {
			const struct series_point *point = &s->points[f->first + n];

			counters[s->keys[point->key].what].value += point->live - live[point->key];
			live[point->key] = point->live;
		}
		for (unsigned int what = 0; what < count; what++)
			show_counter(w, &counters[what], f->ts_ns);
	}
	free(live);
}

/* ---- the sum ---- */

/* Whether the sum ever left what lies between two frames. */
static bool is_bound_needed(const struct view_series *s)
{
	uint64_t before = 0;

	for (uint32_t i = 0; i < s->frame_count; i++) {
		const struct series_frame *f = &s->frames[i];

		if ((f->least < f->live && f->least < before) || (f->most > f->live && f->most > before))
			return true;
		before = f->live;
	}
	return false;
}

/* Between a frame and the next one the sum is at least `least` and at most `most`, which begin at the first of both. */
static void show_bounds(struct trace_writer *w, uint64_t process_track, uint64_t from_ns, const struct view_series *s,
			const char *gpu, const char *what)
{
	struct counter least, most;
	char name[PART_BYTES];

	if (!is_bound_needed(s))
		return;
	snprintf(name, sizeof(name), "%s, at least, until the next point", what);
	least = add_counter(w, process_track, gpu, name);
	snprintf(name, sizeof(name), "%s, at most, until the next point", what);
	most = add_counter(w, process_track, gpu, name);
	for (uint32_t i = 0; i < s->frame_count; i++) {
		const struct series_frame *f = &s->frames[i];

		put_value(w, &least, from_ns, f->least);
		put_value(w, &most, from_ns, f->most);
		from_ns = f->ts_ns;
	}
	if (s->frame_count) {
		put_value(w, &least, from_ns, s->frames[s->frame_count - 1].live);
		put_value(w, &most, from_ns, s->frames[s->frame_count - 1].live);
	}
}

static void show_sum(struct trace_writer *w, uint64_t process_track, const struct view_series *s, const char *gpu,
		     const char *what)
{
	struct counter sum = add_counter(w, process_track, gpu, what);

	set_peak(&sum, s->peak, s->peak_ts_ns);
	for (uint32_t i = 0; i < s->frame_count; i++) {
		sum.value = s->frames[i].live;
		show_counter(w, &sum, s->frames[i].ts_ns);
	}
}

/* ---- blocks ---- */

/* At the peak the report's number stands, which says more of what a block was for that is gone since. */
static void show_category(struct trace_writer *w, struct counter *c, uint64_t ts_ns)
{
	if (c->has_peak && c->peak_ns == ts_ns) {
		put_value(w, c, ts_ns, c->peak);
		c->has_peak = false;
	} else {
		show_counter(w, c, ts_ns);
	}
}

static void show_categories(struct trace_writer *w, uint64_t process_track, const struct view_row *row, const char *gpu)
{
	const struct view_series *s = &row->timeline->blocks;
	struct counter counters[SERIES_PARTS] = { { 0 } };

	for (unsigned int part = 0; part < SERIES_PARTS; part++) {
		const struct view_category *category = &row->torch.training.categories[part];
		bool is_used = view_category_is_used(category);
		char what[PART_BYTES];

		for (uint32_t i = 0; i < s->frame_count && !is_used; i++)
			is_used = s->parts[i].change[part];
		if (!is_used)
			continue;
		snprintf(what, sizeof(what), "tensors: %s", gmt_category_text(part));
		counters[part] = add_counter(w, process_track, gpu, what);
		set_peak(&counters[part], category->at_peak, row->torch.stacks.peak_ts_ns);
	}
	for (uint32_t i = 0; i < s->frame_count; i++)
		for (unsigned int part = 0; part < SERIES_PARTS; part++) {
			counters[part].value += (uint64_t)s->parts[i].change[part];
			show_category(w, &counters[part], s->frames[i].ts_ns);
		}
}

/* An iteration begins where the one before ended. Where there were very many, one slice stands for several. */
static void show_iterations(struct trace_writer *w, uint64_t process_track, const struct view_series *s,
			    const char *gpu)
{
	uint64_t track = 0, from_ns = s->frame_count ? s->frames[0].ts_ns : 0;
	uint32_t before = 0;
	char name[NAME_BYTES];

	for (uint32_t i = 0; i < s->frame_count; i++) {
		const struct series_frame *f = &s->frames[i];

		if (f->why != SERIES_ITERATION)
			continue;
		snprintf(name, sizeof(name), "%s iterations", gpu);
		track = track ? track : trace_track(w, process_track, TRACE_SLICES, name);
		if (f->number > before + 1)
			snprintf(name, sizeof(name), "iterations %" PRIu32 " to %" PRIu32, before + 1, f->number);
		else
			snprintf(name, sizeof(name), "iteration %" PRIu32, f->number);
		trace_slice(w, track, from_ns, f->ts_ns, name);
		from_ns = f->ts_ns;
		before = f->number;
	}
}

/* "forward"; of phases that follow each other: "forward 40 %, backward 55 %". */
static void name_phases(char *name, size_t size, const struct phase_span *span)
{
	uint64_t length = span->until_ns - span->from_ns;
	size_t used = 0;

	for (unsigned int phase = 0; phase < GMT_TRAINING_COUNT && used < size; phase++)
		if (length && span->in_ns[phase] == length)
			used += snprintf(name + used, size - used, "%s", gmt_training_text(phase));
		else if (span->in_ns[phase])
			used += snprintf(name + used, size - used, "%s%s %.0f %%", used ? ", " : "",
					 gmt_training_text(phase),
					 100.0 * (double)span->in_ns[phase] / (double)length);
}

static void show_phases(struct trace_writer *w, uint64_t process_track, const struct view_phases *phases,
			const char *gpu)
{
	uint64_t track = 0;
	char name[NAME_BYTES];

	for (uint32_t i = 0; i < phases->count; i++) {
		const struct phase_span *span = &phases->list[i];

		if (span->from_ns == span->until_ns)
			continue;
		snprintf(name, sizeof(name), "%s phases", gpu);
		track = track ? track : trace_track(w, process_track, TRACE_SLICES, name);
		name_phases(name, sizeof(name), span);
		trace_slice(w, track, span->from_ns, span->until_ns, name);
	}
}

static void show_allocated(struct trace_writer *w, uint64_t process_track, const struct view_proc *proc,
			   const struct view_series *calls, const char *gpu)
{
	struct counter classes[GMT_CLASS_COUNT] = { { 0 } };

	show_sum(w, process_track, calls, gpu, "allocated");
	show_bounds(w, process_track, proc->attach_ts_ns, calls, gpu, "allocated");
	add_key_counters(w, process_track, gpu, calls, GMT_CLASS_COUNT, class_text, classes);
	for (uint32_t i = 0; i < calls->key_count; i++)
		classes[calls->keys[i].what].peak += calls->keys[i].at_peak;
	for (unsigned int class = 0; class < GMT_CLASS_COUNT; class++)
		set_peak(&classes[class], classes[class].peak, calls->peak_ts_ns);
	show_key_counters(w, calls, GMT_CLASS_COUNT, classes);
}

void memory_tracks(struct trace_writer *w, uint64_t process_track, const struct view_proc *proc,
		   const struct view_row *row, const char *gpu)
{
	const struct view_timeline *t = row->timeline;
	struct counter levels[TIMELINE_LEVEL_COUNT] = { { 0 } };

	if (!t->is_bare)
		show_allocated(w, process_track, proc, &t->calls, gpu);
	add_key_counters(w, process_track, gpu, &t->levels, TIMELINE_LEVEL_COUNT, level_text, levels);
	set_peak(&levels[TIMELINE_PHYSICAL], row->physical.peak, row->physical.peak_ts_ns);
	set_peak(&levels[TIMELINE_RESERVED], row->torch.reserved.peak, row->torch.reserved.peak_ts_ns);
	show_key_counters(w, &t->levels, TIMELINE_LEVEL_COUNT, levels);
	if (!t->has_blocks)
		return;
	show_sum(w, process_track, &t->blocks, gpu, "tensors");
	show_bounds(w, process_track, proc->attach_ts_ns, &t->blocks, gpu, "tensors");
	if (t->blocks.parts)
		show_categories(w, process_track, row, gpu);
	show_iterations(w, process_track, &t->blocks, gpu);
	show_phases(w, process_track, &t->phases, gpu);
}
