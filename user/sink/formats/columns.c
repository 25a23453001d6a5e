/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/formats/columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "base/out.h"

#define COMMAND_MIN 11      /* columns: all that matters fits into 80 */

static struct human blank_cell(void)
{
	return (struct human){ .s = "" };
}

static struct human cell_pid(const struct entry *e)
{
	struct human h;

	snprintf(h.s, sizeof(h.s), "%u", e->proc->tgid);
	return h;
}

static struct human cell_gpu(const struct entry *e)
{
	return e->row ? text_gpu(e->view, e->row->gpu) : (struct human){ .s = "-" };
}

static struct human cell_live(const struct entry *e)
{
	return e->row ? human_bytes(e->row->attributed.live) : blank_cell();
}

static struct human cell_peak(const struct entry *e)
{
	return e->row ? human_bytes(e->row->attributed.peak) : blank_cell();
}

static struct human cell_peak_at(const struct entry *e)
{
	return e->row && e->row->attributed.peak ? text_when(e->view, e->row->attributed.peak_ts_ns)
						 : blank_cell();
}

static struct human cell_physical(const struct entry *e)
{
	if (!e->row)
		return blank_cell();
	return e->row->has_physical ? human_bytes(e->row->physical.live) : (struct human){ .s = "?" };
}

static struct human cell_before(const struct entry *e)
{
	return e->row ? human_bytes(e->row->before_attach) : blank_cell();
}

static struct human cell_nvml(const struct entry *e)
{
	if (!e->row || e->proc->exited)
		return blank_cell();
	return e->row->has_nvml ? human_bytes(e->row->nvml) : (struct human){ .s = "?" };
}

static struct human cell_torch(const struct entry *e)
{
	return e->row && e->row->torch.seen ? human_bytes(e->row->torch.allocated.live) : blank_cell();
}

static struct human cell_rate(const struct entry *e)
{
	return e->rate.valid ? human_rate(e->rate.bytes) : blank_cell();
}

static struct human cell_calls(const struct entry *e)
{
	return e->rate.valid ? human_short(e->rate.calls) : blank_cell();
}

static struct human cell_allocs(const struct entry *e)
{
	return e->row ? human_short((double)e->sum.allocs) : blank_cell();
}

static struct human cell_frees(const struct entry *e)
{
	return e->row ? human_short((double)e->sum.frees) : blank_cell();
}

static struct human host_bytes(const struct entry *e, enum gmt_class class)
{
	return e->first ? human_bytes(e->proc->by_class[class].bytes.live) : blank_cell();
}

static struct human cell_pinned(const struct entry *e)
{
	return host_bytes(e, GMT_CLASS_PINNED);
}

static struct human cell_managed(const struct entry *e)
{
	return host_bytes(e, GMT_CLASS_MANAGED);
}

static struct human cell_imported(const struct entry *e)
{
	return e->row ? human_bytes(e->row->by_class[GMT_CLASS_IMPORTED].bytes.live) : blank_cell();
}

static uint64_t has_host(const struct view_proc *proc, enum gmt_class class)
{
	return proc->by_class[class].bytes.peak;
}

static uint64_t has_pinned(const struct view_proc *proc)
{
	return has_host(proc, GMT_CLASS_PINNED);
}

static uint64_t has_managed(const struct view_proc *proc)
{
	return has_host(proc, GMT_CLASS_MANAGED);
}

static uint64_t has_imported(const struct view_proc *proc)
{
	return has_host(proc, GMT_CLASS_IMPORTED);
}

static uint64_t has_before(const struct view_proc *proc)
{
	uint64_t any = 0;

	for (size_t i = 0; i < proc->row_count; i++)
		any |= proc->rows[i].before_attach;
	return any;
}

static uint64_t has_torch(const struct view_proc *proc)
{
	bool any = false;

	for (size_t i = 0; i < proc->row_count; i++)
		any |= proc->rows[i].torch.seen;
	return any;
}

/* In the order they stand; where the width is short, those of the highest rank go first. Those with `has`
 * are shown if any process has something there. */
static const struct column {
	const char *title;
	int width;
	int rank;
	struct human (*cell)(const struct entry *entry);
	uint64_t (*has)(const struct view_proc *proc);
} columns[] = {
	{ "PID", 7, 0, cell_pid, NULL },
	{ "GPU", 4, 0, cell_gpu, NULL },
	{ "LIVE", 8, 0, cell_live, NULL },
	{ "PEAK", 8, 1, cell_peak, NULL },
	{ "PEAK AT", 8, 6, cell_peak_at, NULL },
	{ "PHYSICAL", 8, 3, cell_physical, NULL },
	{ "BEFORE", 8, 4, cell_before, has_before },
	{ "NVML", 8, 2, cell_nvml, NULL },
	{ "TORCH", 8, 5, cell_torch, has_torch },
	{ "ALLOCS", 6, 7, cell_allocs, NULL },
	{ "FREES", 6, 8, cell_frees, NULL },
	{ "RATE", 10, 5, cell_rate, NULL },
	{ "CALLS/S", 7, 10, cell_calls, NULL },
	{ "PINNED", 8, 9, cell_pinned, has_pinned },
	{ "MANAGED", 8, 11, cell_managed, has_managed },
	{ "IMPORTED", 8, 12, cell_imported, has_imported },
};
#define COLUMN_COUNT (sizeof(columns) / sizeof(columns[0]))

_Static_assert(COLUMN_COUNT <= 32, "bits of layout.shown");

static bool any_has(const struct view *view, const struct column *column)
{
	for (size_t i = 0; i < view->proc_count; i++)
		if (!column->has || column->has(&view->procs[i]))
			return true;
	return !column->has;
}

struct layout columns_layout(const struct view *view, unsigned width)
{
	struct layout layout = { 0 };
	unsigned used = 0;

	for (int rank = 0; rank < (int)COLUMN_COUNT; rank++) {
		for (size_t i = 0; i < COLUMN_COUNT; i++) {
			if (columns[i].rank != rank || !any_has(view, &columns[i]))
				continue;
			if (rank && used + columns[i].width + 1 + COMMAND_MIN > width)
				goto out;
			used += columns[i].width + 1;
			layout.shown |= 1u << i;
		}
	}
out:
	layout.command = width > used ? width - used : 0;
	return layout;
}

/* ---- lines ---- */

void columns_head(struct out *out, const struct layout *layout)
{
	for (size_t i = 0; i < COLUMN_COUNT; i++)
		if (layout->shown & 1u << i)
			out_printf(out, "%*s ", columns[i].width, columns[i].title);
	out_text(out, "COMMAND");
}

/* The command line without the program's directory; the name where there is none. */
static const char *command_of_proc(const struct view_proc *proc)
{
	size_t word = strcspn(proc->cmdline, " ");
	const char *slash = memrchr(proc->cmdline, '/', word);

	if (!proc->cmdline[0])
		return proc->comm;
	return slash ? slash + 1 : proc->cmdline;
}

void columns_line(struct out *out, const struct layout *layout, const struct entry *e)
{
	const char *name = command_of_proc(e->proc);
	char *text = xmalloc(4 * (size_t)layout->command + 4);

	for (size_t i = 0; i < COLUMN_COUNT; i++)
		if (layout->shown & 1u << i)
			out_printf(out, "%*s ", columns[i].width, columns[i].cell(e).s);
	if (e->first) {
		human_text(text, layout->command, name, strlen(name));
		out_text(out, text);
	}
	free(text);
}
