// SPDX-License-Identifier: BSD-2-Clause
/*
 * Matches lines of code that have moved between two recordings: somebody has edited the file, or the program lies in
 * another folder. A line that the other recording knows has not moved, whatever it holds there now.
 */
#include "core/compare/diff.h"

#include <stdlib.h>

#include "base/path.h"
#include "base/xalloc.h"
#include "core/compare/held_key.h"

/* A row that is on one side only. */
struct lone {
	uint64_t function;           /* key of the function, and of its file without the folder */
	uint32_t line;
	int side;
	size_t row;
};

static const struct view_symbol *symbol_of(const struct diff *d, const struct diff_row *row, int side)
{
	const struct view_line_row *line = row->line[side];

	return line && line->state == VIEW_LINE_OWN ? &d->sides[side].view->symbols[line->symbol] : NULL;
}

static uint64_t known_line_key(const char *function, const char *file, uint32_t line)
{
	return held_key_number(held_key_text(held_key_text(0, function), file), line);
}

/* The lines that a recording has ever had in a stack. */
static void find_known_lines(const struct frames *frames, struct hash *places)
{
	for (uint32_t i = 0; frames && i < frames->symbol_count; i++) {
		const struct frames_symbol *s = &frames->symbols[i];

		if (s->file[0])
			hash_put(places, known_line_key(s->function, s->file, s->line), NULL);
	}
}

void diff_find_places(struct diff *d)
{
	for (int side = 0; side < DIFF_SIDES; side++) {
		hash_init(&d->places[side], sizeof(char));
		if (!d->is_one_recording)
			find_known_lines(d->sides[side].frames, &d->places[side]);
	}
}

static bool is_lone(const struct diff *d, const struct diff_row *row, int side)
{
	const struct view_symbol *s = symbol_of(d, row, side);

	return s && !row->is_there[!side] && s->file[0] && s->line &&
	       !hash_get(&d->places[!side], known_line_key(s->function, s->file, s->line));
}

static int compare_lone(const void *left, const void *right)
{
	const struct lone *a = left, *b = right;

	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	if (a->side != b->side)
		return a->side < b->side ? -1 : 1;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	return (a->row > b->row) - (a->row < b->row);
}

/* The row of B goes into the row of A, and holds nothing from then on. */
static void join_rows(struct diff_table *lines, size_t a, size_t b, enum diff_match match)
{
	struct diff_row *to = &lines->rows[a], *from = &lines->rows[b];

	to->match = match;
	to->is_there[DIFF_B] = true;
	to->line[DIFF_B] = from->line[DIFF_B];
	to->amount.bytes[DIFF_B] = from->amount.bytes[DIFF_B];
	to->amount.count[DIFF_B] = from->amount.count[DIFF_B];
	from->is_there[DIFF_B] = false;
}

/* Lines of one function: `a` of A, then `b` of B, each by number. */
static void match_function(struct diff_table *lines, const struct lone *list, size_t a, size_t b)
{
	const struct lone *of_b = list + a;

	if (a == b) {
		for (size_t i = 0; i < a; i++)
			join_rows(lines, list[i].row, of_b[i].row,
				  list[i].line == of_b[i].line ? DIFF_BY_FILE_NAME : DIFF_BY_FUNCTION);
		return;
	}
	for (size_t i = 0, j = 0; i < a && j < b;) {
		if (list[i].line == of_b[j].line)
			join_rows(lines, list[i++].row, of_b[j++].row, DIFF_BY_FILE_NAME);
		else if (list[i].line < of_b[j].line)
			i++;
		else
			j++;
	}
}

static void match_lone(struct diff_table *lines, const struct lone *list, size_t count)
{
	for (size_t i = 0; i < count;) {
		size_t of[DIFF_SIDES] = { 0 }, first = i;

		for (; i < count && list[i].function == list[first].function; i++)
			of[list[i].side]++;
		match_function(lines, &list[first], of[DIFF_A], of[DIFF_B]);
	}
}

static void drop_joined(struct diff_table *lines)
{
	size_t kept = 0;

	for (size_t i = 0; i < lines->count; i++)
		if (lines->rows[i].is_there[DIFF_A] || lines->rows[i].is_there[DIFF_B])
			lines->rows[kept++] = lines->rows[i];
	lines->count = kept;
}

void diff_match_moved(const struct diff *d, struct diff_table *lines)
{
	struct lone *list = NULL;
	size_t count = 0;

	if (d->is_one_recording)
		return;
	for (size_t i = 0; i < lines->count; i++) {
		for (int side = 0; side < DIFF_SIDES; side++) {
			const struct view_symbol *s = symbol_of(d, &lines->rows[i], side);

			if (!is_lone(d, &lines->rows[i], side))
				continue;
			list = xgrow(list, count, sizeof(*list));
			list[count++] = (struct lone){
				.function = held_key_text(held_key_text(0, s->function), path_base(s->file)),
				.line = s->line, .side = side, .row = i,
			};
		}
	}
	if (count)
		qsort(list, count, sizeof(*list), compare_lone);
	match_lone(lines, list, count);
	drop_joined(lines);
	free(list);
}
