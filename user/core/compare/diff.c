// SPDX-License-Identifier: BSD-2-Clause
#include "core/compare/diff.h"

#include <stdlib.h>


const char *diff_limit_name(enum diff_limit limit)
{
	static const char *const names[] = {
#define X(name, text) text,
		DIFF_LIMITS(X)
#undef X
	};

	return names[limit];
}

/* ---- what cannot be compared ---- */

static const struct view_row *side_row(const struct diff *d, const struct diff_part *part, int side)
{
	size_t proc = d->pairs[part->pair].proc[side];

	return part->row[side] == DIFF_NONE ? NULL : &d->sides[side].view->procs[proc].rows[part->row[side]];
}

static bool has_best_stacks(const struct view_row *row)
{
	return view_has_stacks(view_best_stacks(row));
}

static bool has_tensors(const struct view_row *row)
{
	return view_has_stacks(&row->torch.stacks);
}

/* Counts the parts in which a side lacks what a comparison needs; only_this: and the other side has it. */
static uint64_t count_lacking(const struct diff *d, int side, bool (*has)(const struct view_row *row), bool only_this)
{
	uint64_t count = 0;

	for (size_t i = 0; i < d->part_count; i++) {
		const struct view_row *row = side_row(d, &d->parts[i], side), *other = side_row(d, &d->parts[i], !side);

		if (row && view_weight(row) && !has(row) && (!only_this || (other && has(other))))
			count++;
	}
	return count;
}

static bool has_kernel(const struct view_row *row)
{
	return row->has_physical;
}

static uint64_t count_late(const struct view *view)
{
	uint64_t count = 0;

	for (size_t i = 0; i < view->proc_count; i++)
		count += view->procs[i].row_count && !view->procs[i].from_start;
	return count;
}

static void find_limits(struct diff *d)
{
	for (int side = 0; side < DIFF_SIDES; side++) {
		const struct diff_side *s = &d->sides[side];

		d->limits[DIFF_LIMIT_LOSSES][side] = s->lost;
		d->limits[DIFF_LIMIT_INCOMPLETE][side] = s->is_incomplete;
		d->limits[DIFF_LIMIT_NO_STACKS][side] = count_lacking(d, side, has_best_stacks, false);
		d->limits[DIFF_LIMIT_NO_TENSORS][side] = count_lacking(d, side, has_tensors, true);
		d->limits[DIFF_LIMIT_NO_KERNEL][side] = count_lacking(d, side, has_kernel, true);
		d->limits[DIFF_LIMIT_LATE][side] = s->is_picture ? 0 : count_late(s->view);
		d->limits[DIFF_LIMIT_PICTURE][side] = s->is_picture;
	}
}

/* ---- all of it ---- */

static void fill_tables(struct diff *d)
{
	for (int kind = 0; kind < HELD_TABLE_COUNT; kind++) {
		diff_fill_table(d, (enum held_table)kind, d->parts, d->part_count, &d->tables[kind]);
		for (size_t i = 0; i < d->part_count; i++)
			diff_fill_table(d, (enum held_table)kind, &d->parts[i], 1, &d->parts[i].tables[kind]);
	}
}

void diff_build(const struct diff_side sides[DIFF_SIDES], bool is_one_recording, struct diff *out)
{
	*out = (struct diff){ .sides = { sides[DIFF_A], sides[DIFF_B] }, .is_one_recording = is_one_recording };
	diff_find_pairs(out);
	diff_find_places(out);
	for (size_t i = 0; i < out->part_count; i++) {
		out->is_tensors |= out->parts[i].is_tensors;
		for (int side = 0; side < DIFF_SIDES; side++)
			out->held.bytes[side] += out->parts[i].held.bytes[side];
	}
	fill_tables(out);
	for (size_t i = 0; i < out->tables[HELD_LINES].count; i++)
		out->matched[out->tables[HELD_LINES].rows[i].match]++;
	out->matched[DIFF_BY_NAME] = 0;
	find_limits(out);
}

void diff_free(struct diff *d)
{
	for (int kind = 0; kind < HELD_TABLE_COUNT; kind++) {
		free(d->tables[kind].rows);
		for (size_t i = 0; i < d->part_count; i++)
			free(d->parts[i].tables[kind].rows);
	}
	for (int side = 0; side < DIFF_SIDES; side++)
		hash_fini(&d->places[side]);
	free(d->pairs);
	free(d->parts);
	*d = (struct diff){ 0 };
}
