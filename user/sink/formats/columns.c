/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/formats/columns.h"

#include <stdio.h>
#include <string.h>

#include "base/out.h"

#define COMMAND_MIN 11      /* columns: the most important columns fit into 80 */

/* ---- cells ---- */

#define WORD(text) ((struct human){ .s = text })
#define CELL(name, value) \
	static struct human cell_##name(const struct entry *e) { return value; }
#define ROW_CELL(name, value) CELL(name, e->row ? value : WORD(""))
#define HOST_CELL(name, class) CELL(name, e->first ? human_bytes(e->proc->by_class[class].bytes.live) : WORD(""))

static struct human cell_pid(const struct entry *e)
{
	struct human h;

	snprintf(h.s, sizeof(h.s), "%u", e->proc->tgid);
	return h;
}

static struct human cell_nvml(const struct entry *e)
{
	if (!e->row || e->proc->exited)
		return WORD("");
	return e->row->has_nvml ? human_bytes(e->row->nvml) : WORD("?");
}

CELL(gpu, e->row ? text_gpu(e->view, e->row->gpu) : WORD("-"))
ROW_CELL(live, human_bytes(e->row->attributed.live))
ROW_CELL(peak, human_bytes(e->row->attributed.peak))
ROW_CELL(peak_at, e->row->attributed.peak ? text_when(e->view, e->row->attributed.peak_ts_ns) : WORD(""))
ROW_CELL(physical, e->row->has_physical ? human_bytes(e->row->physical.live) : WORD("?"))
ROW_CELL(before, human_bytes(e->row->before_attach))
ROW_CELL(torch, e->row->torch.seen ? human_bytes(e->row->torch.allocated.live) : WORD(""))
ROW_CELL(allocs, human_short((double)e->sum.allocs))
ROW_CELL(frees, human_short((double)e->sum.frees))
ROW_CELL(imported, human_bytes(e->row->by_class[GMT_CLASS_IMPORTED].bytes.live))
CELL(rate, e->rate.valid ? human_rate(e->rate.bytes) : WORD(""))
CELL(calls, e->rate.valid ? human_short(e->rate.calls) : WORD(""))
HOST_CELL(pinned, GMT_CLASS_PINNED)
HOST_CELL(managed, GMT_CLASS_MANAGED)

/* ---- whether a process has a value there ---- */

#define HAS(name, value) \
	static bool has_##name(const struct view_proc *proc) { return value; }
#define HAS_ROW(name, value)                                                      \
	static bool has_##name(const struct view_proc *proc)                      \
	{                                                                         \
		for (size_t i = 0; i < proc->row_count; i++)                      \
			if (proc->rows[i].value)                                  \
				return true;                                      \
		return false;                                                     \
	}
HAS(pinned, proc->by_class[GMT_CLASS_PINNED].bytes.peak)
HAS(managed, proc->by_class[GMT_CLASS_MANAGED].bytes.peak)
HAS(imported, proc->by_class[GMT_CLASS_IMPORTED].bytes.peak)
HAS_ROW(before, before_attach)
HAS_ROW(torch, torch.seen)

/* ---- columns ---- */

/* From left to right. A narrow window drops the columns of the highest rank first. A column with `has` is shown only if
 * some process has a value there. */
static const struct column {
	const char *title;
	int width;
	int rank;
	struct human (*cell)(const struct entry *entry);
	bool (*has)(const struct view_proc *proc);
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

/* The command line without the program's directory, or the name if there is no command line. */
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

	for (size_t i = 0; i < COLUMN_COUNT; i++)
		if (layout->shown & 1u << i)
			out_printf(out, "%*s ", columns[i].width, columns[i].cell(e).s);
	if (e->first)
		human_print(out, layout->command, name, strlen(name));
}
