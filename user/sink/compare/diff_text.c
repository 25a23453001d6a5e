// SPDX-License-Identifier: BSD-2-Clause
/*
 * A difference (core/compare/diff.h) for people: the answer first, then tables in 80 columns.
 *
 *          A         B  DIFFERENCE  COUNT  BY LINE OF THE PROGRAM
 *    212 MiB   1.0 GiB    +800 MiB    +40  train.py:31 append
 *     64 MiB       0 B     -64 MiB     -3  train.py:63 loss_of  (gone)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/out.h"
#include "sink/compare/diff_names.h"
#include "sink/compare/held_name.h"
#include "sink/sink.h"
#include "sink/text/text.h"

#define BYTES_COLUMNS 9
#define CHANGE_COLUMNS 12
#define COUNT_COLUMNS 8
#define NAME_INDENT (2 * BYTES_COLUMNS + CHANGE_COLUMNS + COUNT_COLUMNS + 2)
#define LABEL_COLUMNS 8
#define COMMAND_COLUMNS 48

struct printing {
	struct out *out;
	const struct diff *diff;
	const struct sink_opts *opts;
};

/* ---- amounts ---- */

static struct human amount_text(int64_t bytes)
{
	return bytes < 0 ? human_signed_bytes(bytes) : human_bytes((uint64_t)bytes);
}

static struct human count_text(const struct diff_amount *a)
{
	uint64_t before = a->count[DIFF_A], after = a->count[DIFF_B];
	struct human h;

	if (before == after)
		return (struct human){ "" };
	snprintf(h.s, sizeof(h.s), "%c%.30s", after > before ? '+' : '-',
		 human_short((double)(after > before ? after - before : before - after)).s);
	return h;
}

static void amount_line(const struct printing *p, const struct diff_amount *a, struct out *name)
{
	char cells[4 * sizeof(struct human)];

	snprintf(cells, sizeof(cells), "%*s%*s%*s%*s  ", BYTES_COLUMNS, amount_text(a->bytes[DIFF_A]).s,
		 BYTES_COLUMNS, amount_text(a->bytes[DIFF_B]).s, CHANGE_COLUMNS,
		 human_signed_bytes(diff_bytes(a)).s, COUNT_COLUMNS, count_text(a).s);
	text_wrap(p->out, cells, NAME_INDENT, TEXT_COLUMNS, name);
}

static void named_line(const struct printing *p, const struct diff_amount *a, const char *name)
{
	struct out text;

	out_init_mem(&text);
	out_text(&text, name);
	amount_line(p, a, &text);
}

static void print_titles(const struct printing *p, const char *title)
{
	out_printf(p->out, "\n%*s%*s%*s%*s  %s\n", BYTES_COLUMNS, "A", BYTES_COLUMNS, "B", CHANGE_COLUMNS, "DIFFERENCE",
		   COUNT_COLUMNS, "COUNT", title);
}

/* ---- tables ---- */

static bool is_row_shown(const struct printing *p, const struct diff_row *row)
{
	return p->opts->full || diff_bytes(&row->amount) || row->amount.count[DIFF_A] != row->amount.count[DIFF_B];
}

/* The lines of A and B are not one. */
static void print_match(struct out *out, const struct diff *d, const struct diff_row *row)
{
	const struct view_symbol *a;

	if (row->match == DIFF_BY_NAME)
		return;
	a = &d->sides[DIFF_A].view->symbols[row->line[DIFF_A]->symbol];
	if (row->match == DIFF_BY_FUNCTION)
		out_printf(out, "  (A: line %u)", a->line);
	else
		out_text(out, "  (A: another folder)");
}

static void diff_row_line(const struct printing *p, enum held_table kind, const struct diff_row *row)
{
	struct out name;

	out_init_mem(&name);
	diff_name(&name, p->diff, kind, row);
	print_match(&name, p->diff, row);
	if (!row->is_there[DIFF_A])
		out_text(&name, "  (new)");
	else if (!row->is_there[DIFF_B])
		out_text(&name, "  (gone)");
	amount_line(p, &row->amount, &name);
}

static void add_to(struct diff_amount *sum, const struct diff_amount *a)
{
	for (int side = 0; side < DIFF_SIDES; side++) {
		sum->bytes[side] += a->bytes[side];
		sum->count[side] += a->count[side];
	}
}

static void print_table(const struct printing *p, enum held_table kind, const struct diff_table *t)
{
	struct diff_amount rest = { 0 };
	size_t shown = 0, left = 0;
	char text[64];

	if (!t->count || (!p->opts->full && !is_row_shown(p, &t->rows[0])))
		return;
	print_titles(p, held_table_title(kind));
	for (size_t i = 0; i < t->count; i++) {
		if (shown < p->opts->top && is_row_shown(p, &t->rows[i])) {
			diff_row_line(p, kind, &t->rows[i]);
			shown++;
		} else {
			add_to(&rest, &t->rows[i].amount);
			left++;
		}
	}
	if (left) {
		snprintf(text, sizeof(text), "%s more %s", human_count(left).s, human_plural(left, "row", "rows"));
		named_line(p, &rest, text);
	}
	if (shown + left > 1)
		named_line(p, &t->all, "in all");
}

static void print_all_tables(const struct printing *p, const struct diff_table *tables)
{
	for (size_t i = 0; i < HELD_TABLE_COUNT; i++)
		print_table(p, held_table_order[i], &tables[held_table_order[i]]);
}

/* ---- processes ---- */

static const struct view_proc *paired_proc(const struct diff *d, const struct diff_pair *pair, int side)
{
	return pair->proc[side] == DIFF_NONE ? NULL : &d->sides[side].view->procs[pair->proc[side]];
}

static void print_pids(struct out *out, const struct diff *d, const struct diff_pair *pair)
{
	const struct view_proc *a = paired_proc(d, pair, DIFF_A), *b = paired_proc(d, pair, DIFF_B);

	if (a && b && a->tgid != b->tgid)
		out_printf(out, "pid %u and %u", a->tgid, b->tgid);
	else
		out_printf(out, "pid %u", a ? a->tgid : b->tgid);
}

/* "train.py, pid 576 and 601, GPU 0  (new)" */
static void part_name(struct out *out, const struct diff *d, const struct diff_part *part)
{
	const struct diff_pair *pair = &d->pairs[part->pair];
	int side = pair->proc[DIFF_B] != DIFF_NONE ? DIFF_B : DIFF_A;

	text_command(out, COMMAND_COLUMNS, paired_proc(d, pair, side));
	out_text(out, ", ");
	print_pids(out, d, pair);
	if (part->is_host) {
		out_text(out, ", host");
	} else {
		side = part->row[DIFF_B] != DIFF_NONE ? DIFF_B : DIFF_A;
		out_printf(out, ", GPU %s",
			   text_gpu(d->sides[side].view, paired_proc(d, pair, side)->rows[part->row[side]].gpu).s);
	}
	if (pair->proc[DIFF_A] == DIFF_NONE)
		out_text(out, "  (new)");
	else if (pair->proc[DIFF_B] == DIFF_NONE)
		out_text(out, "  (gone)");
	else if (pair->how == DIFF_PAIR_COMM)
		out_text(out, "  (other arguments)");
	else if (pair->how == DIFF_PAIR_ONLY)
		out_text(out, "  (other program)");
}

static bool is_host_empty(const struct diff_part *part)
{
	return part->is_host && !part->tables[HELD_CALLS].count;
}

/* What a part has on its GPU, or what it holds of the host's memory. */
static void print_parts(const struct printing *p)
{
	const struct diff *d = p->diff;

	print_titles(p, "BY PROCESS AND GPU");
	for (size_t i = 0; i < d->part_count; i++) {
		const struct diff_part *part = &d->parts[i];
		struct diff_amount amount = part->is_host ? part->tables[HELD_CALLS].all : part->held;
		struct out name;

		if (is_host_empty(part))
			continue;
		out_init_mem(&name);
		part_name(&name, d, part);
		amount_line(p, &amount, &name);
		if (part->is_tensors)
			named_line(p, &part->tables[HELD_LINES].all, "  of it in tensors");
	}
}

static void print_each_part(const struct printing *p)
{
	const struct diff *d = p->diff;

	for (size_t i = 0; i < d->part_count; i++) {
		struct out name;

		if (is_host_empty(&d->parts[i]))
			continue;
		out_init_mem(&name);
		part_name(&name, d, &d->parts[i]);
		out_char(p->out, '\n');
		text_wrap(p->out, "", 0, TEXT_COLUMNS, &name);
		print_all_tables(p, d->parts[i].tables);
	}
}

/* ---- all of it ---- */

static void print_side(const struct printing *p, int side)
{
	const struct view *view = p->diff->sides[side].view;
	const char *name = p->diff->sides[side].name, label[] = { "AB"[side], '\0' };
	struct out text;

	out_init_mem(&text);
	human_print(&text, NAME_INDENT * 4, name, strlen(name));
	out_printf(&text, "  at %s", text_offset(view, view->now_ns).s);
	if (view->wall_start_ns)
		out_printf(&text, ", %s", human_wall(view->wall_start_ns + (view->now_ns - view->start_ns),
						     "%Y-%m-%d %H:%M:%S").s);
	text_wrap(p->out, label, 4, TEXT_COLUMNS, &text);
}

/* Why lines stand side by side that have not the same name. */
static void print_matched(const struct printing *p, enum diff_match match)
{
	static const char *const hows[DIFF_MATCHES] = {
		[DIFF_BY_FUNCTION] = "function, as the other recording does not know the line",
		[DIFF_BY_FILE_NAME] = "the name of the file, which lies in another folder in the other recording",
	};
	const struct text_place place = { "note", LABEL_COLUMNS, TEXT_COLUMNS };
	size_t count = p->diff->matched[match];

	text_format(p->out, p->opts, TEXT_YELLOW, &place, "%zu %s matched by %s", count,
		    human_plural(count, "line is", "lines are"), hows[match]);
}

static void print_notes(const struct printing *p)
{
	const struct text_place place = { "note", LABEL_COLUMNS, TEXT_COLUMNS };
	struct out text;

	out_char(p->out, '\n');
	for (int limit = 0; limit < DIFF_LIMIT_COUNT; limit++) {
		if (!p->diff->limits[limit][DIFF_A] && !p->diff->limits[limit][DIFF_B])
			continue;
		out_init_mem(&text);
		diff_limit_text(&text, p->diff, (enum diff_limit)limit);
		text_item(p->out, p->opts, TEXT_YELLOW, &place, &text);
	}
	for (int match = DIFF_BY_NAME + 1; match < DIFF_MATCHES; match++)
		if (p->diff->matched[match])
			print_matched(p, (enum diff_match)match);
	if (!p->opts->full)
		text_format(p->out, p->opts, TEXT_PLAIN, &(struct text_place){ "more", LABEL_COLUMNS, TEXT_COLUMNS },
			    "--full also prints what is the same, and each process; --top N prints N rows");
}

void diff_print(struct out *out, const struct diff *d, const struct sink_opts *opts)
{
	const struct printing p = { out, d, opts };
	struct out answer;

	out_init_mem(&answer);
	diff_answer(&answer, d);
	text_item(out, opts, TEXT_BOLD, &(struct text_place){ "", 0, TEXT_COLUMNS }, &answer);
	out_char(out, '\n');
	print_side(&p, DIFF_A);
	print_side(&p, DIFF_B);
	if (d->part_count)
		print_parts(&p);
	print_all_tables(&p, d->tables);
	if (opts->full && d->pair_count > 1)
		print_each_part(&p);
	print_notes(&p);
}
