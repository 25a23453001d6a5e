// SPDX-License-Identifier: BSD-2-Clause
/*
 * The ranks of one job (core/compare/ranks.h) for people: which rank differs and by which line, then each rank, then
 * tables in 80 columns.
 *
 *     SUM    LEAST   MEDIAN     MOST  BY LINE OF THE PROGRAM
 * 1.7 GiB  424 MiB  424 MiB  500 MiB  train.py:69 train  (most: rank3.gmt)
 */
#include <stdio.h>
#include <string.h>

#include "base/amounts.h"
#include "base/human.h"
#include "base/out.h"
#include "base/path.h"
#include "sink/compare/held_name.h"
#include "sink/compare/ranks_sinks.h"
#include "sink/sink.h"
#include "sink/text/text.h"

#define CELL_COLUMNS 9
#define NAME_INDENT (4 * CELL_COLUMNS + 2)
#define LABEL_COLUMNS 8
#define RANK_COLUMNS 60

struct printing {
	struct out *out;
	const struct ranks *ranks;
	const struct sink_opts *opts;
};

/* ---- names ---- */

static const struct view *view_of_rank(const struct ranks *r, size_t rank)
{
	return r->sources[r->list[rank].source].view;
}

static bool has_several(const struct ranks *r, size_t rank)
{
	size_t source = r->list[rank].source;

	return (rank && r->list[rank - 1].source == source) ||
	       (rank + 1 < r->count && r->list[rank + 1].source == source);
}

void ranks_name(struct out *out, const struct ranks *r, size_t rank)
{
	const char *base = path_base(r->sources[r->list[rank].source].path);

	human_print(out, RANK_COLUMNS, base, strlen(base));
	if (has_several(r, rank))
		out_printf(out, ", pid %u", r->list[rank].proc->tgid);
}

/* ---- the answer ---- */

static struct human bytes_text(int64_t bytes)
{
	return bytes < 0 ? human_signed_bytes(bytes) : human_bytes((uint64_t)bytes);
}

static void name_row(struct out *out, const struct ranks *r, enum held_table table, const struct ranks_row *row)
{
	held_name(out, view_of_rank(r, row->shown), table, row->line, row->index);
}

static void print_odd(struct out *out, const struct ranks *r, const struct ranks_odd *odd)
{
	const struct ranks_row *all = &r->tables[HELD_LINES].all;

	ranks_name(out, r, odd->rank);
	out_printf(out, " holds %s %s%s than ", human_bytes(magnitude_of(odd->difference)).s,
		   odd->difference > 0 ? "more" : "less", r->is_tensors ? " in tensors" : "");
	if (r->count > 2)
		out_printf(out, "the median of %zu ranks (%s)", r->count,
			   bytes_text(all->bytes[all->spread.median]).s);
	else
		ranks_name(out, r, all->spread.median);
	if (odd->row == RANKS_NONE)
		return;
	if (magnitude_of(odd->of_row) <= magnitude_of(odd->difference))
		out_printf(out, ": %s of them ", human_bytes(magnitude_of(odd->of_row)).s);
	else
		out_printf(out, ": %s by ", human_signed_bytes(odd->of_row).s);
	name_row(out, r, r->telling, &r->tables[r->telling].rows[odd->row]);
}

void ranks_answer(struct out *out, const struct ranks *r)
{
	const struct ranks_row *all = &r->tables[HELD_LINES].all;

	if (!r->count) {
		out_text(out, "no process held memory of a GPU");
	} else if (r->odd_count) {
		print_odd(out, r, &r->odd[0]);
		if (r->odd_count > 1)
			out_printf(out, "; %zu more %s", r->odd_count - 1,
				   human_plural(r->odd_count - 1, "rank differs", "ranks differ"));
	} else {
		out_printf(out, "no rank differs: %zu %s %s", r->count,
			   human_plural(r->count, "rank holds", "ranks hold"),
			   bytes_text(all->bytes[all->spread.least]).s);
		if (all->bytes[all->spread.least] != all->bytes[all->spread.most])
			out_printf(out, " to %s", bytes_text(all->bytes[all->spread.most]).s);
		out_printf(out, "%s%s", r->count > 1 ? " each" : "", r->is_tensors ? " in tensors" : "");
	}
}

/* ---- tables ---- */

static void spread_line(const struct printing *p, const struct ranks_row *row, struct out *name)
{
	const struct ranks_spread *s = &row->spread;
	char cells[4 * sizeof(struct human)];

	snprintf(cells, sizeof(cells), "%*s%*s%*s%*s  ", CELL_COLUMNS, bytes_text(s->sum).s, CELL_COLUMNS,
		 bytes_text(row->bytes[s->least]).s, CELL_COLUMNS, bytes_text(row->bytes[s->median]).s, CELL_COLUMNS,
		 bytes_text(row->bytes[s->most]).s);
	if (row->bytes[s->least] != row->bytes[s->most]) {
		/* Where most ranks hold the most, the one that holds the least is the one to look at. */
		bool is_most = row->bytes[s->most] != row->bytes[s->median];

		out_text(name, is_most ? "  (most: " : "  (least: ");
		ranks_name(name, p->ranks, is_most ? s->most : s->least);
		out_char(name, ')');
	}
	text_wrap(p->out, cells, NAME_INDENT, TEXT_COLUMNS, name);
}

static void sum_line(const struct printing *p, const struct ranks_row *row, const char *text)
{
	struct out name;

	out_init_mem(&name);
	out_text(&name, text);
	spread_line(p, row, &name);
}

static void print_ranks_table(const struct printing *p, enum held_table table)
{
	const struct ranks_table *t = &p->ranks->tables[table];
	size_t shown = p->opts->full || t->count < p->opts->top ? t->count : p->opts->top;

	if (!t->count)
		return;
	out_printf(p->out, "\n%*s%*s%*s%*s  %s\n", CELL_COLUMNS, "SUM", CELL_COLUMNS, "LEAST", CELL_COLUMNS, "MEDIAN",
		   CELL_COLUMNS, "MOST", held_table_title(table));
	for (size_t i = 0; i < shown; i++) {
		struct out name;

		out_init_mem(&name);
		name_row(&name, p->ranks, table, &t->rows[i]);
		spread_line(p, &t->rows[i], &name);
	}
	if (shown < t->count)
		out_printf(p->out, "%*s%zu more %s\n", NAME_INDENT, "", t->count - shown,
			   human_plural(t->count - shown, "row", "rows"));
	sum_line(p, &t->all, "in all");
}

/* ---- each rank ---- */

static void rank_line(const struct printing *p, size_t rank)
{
	const struct ranks *r = p->ranks;
	const struct view *view = view_of_rank(r, rank);
	const struct ranks_row *all = &r->tables[HELD_LINES].all;
	char cells[4 * sizeof(struct human)];
	const char *host = (const char *)view->session.host;
	struct out name;

	snprintf(cells, sizeof(cells), "%*s%*s%*s%*s  ", CELL_COLUMNS, bytes_text(r->list[rank].gpu_memory).s,
		 CELL_COLUMNS, r->is_tensors ? bytes_text(r->list[rank].lines).s : "", CELL_COLUMNS + 3,
		 human_signed_bytes(all->bytes[rank] - all->bytes[all->spread.median]).s, CELL_COLUMNS,
		 text_offset(view, view->now_ns).s);
	out_init_mem(&name);
	ranks_name(&name, r, rank);
	out_printf(&name, "  GPU %s", text_gpu(view, r->list[rank].proc->rows[0].gpu).s);
	if (view->session.hdr.size && *host) {
		out_text(&name, " on ");
		human_print(&name, RANK_COLUMNS, host, strlen(host));
	}
	text_wrap(p->out, cells, NAME_INDENT + 3, TEXT_COLUMNS, &name);
}

static void print_each_rank(const struct printing *p)
{
	if (!p->ranks->count)
		return;
	out_printf(p->out, "\n%*s%*s%*s%*s  %s\n", CELL_COLUMNS, "GPU", CELL_COLUMNS,
		   p->ranks->is_tensors ? "TENSORS" : "", CELL_COLUMNS + 3, "TO MEDIAN", CELL_COLUMNS, "AT", "RANK");
	for (size_t i = 0; i < p->ranks->count; i++)
		rank_line(p, i);
}

static void print_losses(const struct printing *p)
{
	const struct text_place place = { "note", LABEL_COLUMNS, TEXT_COLUMNS };

	for (size_t i = 0; i < p->ranks->source_count; i++) {
		const struct ranks_source *s = &p->ranks->sources[i];
		struct out text;

		if (!s->lost && !s->is_incomplete)
			continue;
		out_init_mem(&text);
		human_print(&text, RANK_COLUMNS, s->name, strlen(s->name));
		out_text(&text, s->lost ? " lost records: its numbers may be wrong" :
			 " is incomplete: what came later is not known");
		text_item(p->out, p->opts, TEXT_YELLOW, &place, &text);
	}
}

void ranks_print(struct out *out, const struct ranks *r, const struct sink_opts *opts)
{
	const struct printing p = { out, r, opts };
	struct out answer;

	out_init_mem(&answer);
	ranks_answer(&answer, r);
	text_item(out, opts, TEXT_BOLD, &(struct text_place){ "", 0, TEXT_COLUMNS }, &answer);
	print_each_rank(&p);
	for (size_t i = 0; i < HELD_TABLE_COUNT && r->count; i++)
		print_ranks_table(&p, held_table_order[i]);
	out_char(out, '\n');
	print_losses(&p);
	text_format(out, opts, TEXT_PLAIN, &(struct text_place){ "note", LABEL_COLUMNS, TEXT_COLUMNS },
		    "each rank at its own moment, its peak unless FILE@MOMENT says another; recordings do not have the"
		    " numbers of ranks: they are named by their files");
}
