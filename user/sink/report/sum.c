/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The column of numbers that adds up to NVML's number. All numbers are of the moment when NVML was asked last
 * (view_sum), so that their sum is exact. The rounded numbers add up, too.
 *
 *     nvidia-smi (NVML)               2,345 MiB  at 10:17:23, 5.0 s before the end
 *       allocated by calls            1,800      cuMemAlloc 1,200, cuMemCreate 600
 *       CUDA context                    498
 *       modules                          12
 *       before attach                    35      3 kernel objects freed since, sizes unknown
 *       residual                          0
 */

#include "base/human.h"
#include "base/out.h"
#include "sink/report/report.h"
#include "sink/text/text.h"

#define LABEL_COLUMNS 28   /* with NUMBER_COLUMNS and the time, 80 in all */
#define NUMBER_COLUMNS 9
#define MIB_SHIFT 20
#define STALE_NS 2000000000ull   /* the report shows the time of an NVML number that is older than this */

/* Rounds running totals instead of terms: the printed terms add up to the printed total. */
struct column {
	struct out *out;
	int64_t sum_bytes;
	int64_t sum_tenths;
	int decimals;
};

static int64_t tenths_of(int64_t bytes, int decimals)
{
	int64_t unit = decimals ? 1 : 10;
	__int128 scaled = (__int128)bytes * 10 / unit;
	__int128 half = (__int128)1 << (MIB_SHIFT - 1);

	return (int64_t)((scaled + (bytes < 0 ? -half : half)) / ((__int128)1 << MIB_SHIFT)) * unit;
}

static void print_sum_cell(struct out *out, int indent, const char *label, int64_t tenths, int decimals,
			   const char *unit)
{
	out_printf(out, "    %*s%-*s%*s%s", indent, "", LABEL_COLUMNS - indent, label, NUMBER_COLUMNS,
		   human_mib(tenths, decimals).s, unit);
}

/* Prints a term without the end of the line. */
static void print_term(struct column *column, const char *label, int64_t bytes)
{
	int64_t before = column->sum_tenths;

	column->sum_bytes += bytes;
	column->sum_tenths = tenths_of(column->sum_bytes, column->decimals);
	print_sum_cell(column->out, 2, label, column->sum_tenths - before, column->decimals, "");
}

/* Prints no line for 0. */
static void print_term_line(struct column *column, const char *label, int64_t bytes)
{
	if (!bytes)
		return;
	print_term(column, label, bytes);
	out_char(column->out, '\n');
}

/* Prints the device classes that hold memory: "      cuMemAlloc 1,200, cuMemCreate 600". */
static void class_parts(struct column *column, const uint64_t *by_class)
{
	const char *separator = "      ";

	for (int c = 0; c < GMT_CLASS_COUNT; c++) {
		if (!by_class[c])
			continue;
		out_printf(column->out, "%s%s %s", separator, gmt_class_text(c),
			   human_mib(tenths_of((int64_t)by_class[c], column->decimals), column->decimals).s);
		separator = ", ";
	}
	out_char(column->out, '\n');
}

/* Numbers are whole MiB, or have one decimal if any number needs a decimal. */
static int decimals_of(uint64_t total, const struct view_sum *s)
{
	uint64_t any = total | s->attributed | (uint64_t)s->context | (uint64_t)s->modules |
		       (uint64_t)s->pool_reserve | (uint64_t)s->rounding | (uint64_t)s->other |
		       s->before_attach | s->checkpointed | (uint64_t)s->residual;

	for (int c = 0; c < GMT_CLASS_COUNT; c++)
		any |= s->by_class[c];
	return (any & ((1u << MIB_SHIFT) - 1)) != 0;
}

/* Without traced calls, the kernel driver's memory cannot be broken down. */
static bool calls_unseen(const struct view *view)
{
	return view->session.hdr.size && !(view->session.layers & GMT_LAYER_API);
}

/* Prints the kernel driver's memory: allocations by calls, and the rest by name. */
static void physical_terms(struct column *column, const struct view *view, const struct view_sum *s)
{
	if (calls_unseen(view)) {
		print_term(column, "not broken down",
			   (int64_t)s->attributed + s->context + s->modules + s->pool_reserve + s->rounding +
			     s->other - (int64_t)s->checkpointed);
		out_text(column->out, "      CUDA calls were not traced: the API layer was not active\n");
		return;
	}
	print_term(column, "allocated by calls", (int64_t)s->attributed);
	class_parts(column, s->by_class);
	print_term_line(column, "CUDA context", s->context);
	print_term_line(column, "modules", s->modules);
	print_term_line(column, "pool reserve", s->pool_reserve);
	print_term_line(column, "rounding", s->rounding);
	print_term_line(column, "streams, launches", s->other);
	print_term_line(column, "checkpointed to the host", -(int64_t)s->checkpointed);
}

static void before_attach(struct column *column, const struct view_row *row)
{
	if (!row->at_nvml.before_attach && !row->before_frees)
		return;
	print_term(column, "before attach", (int64_t)row->at_nvml.before_attach);
	if (row->before_frees)
		out_printf(column->out, "      %s %s freed since, %s", human_count(row->before_frees).s,
			   human_plural(row->before_frees, "kernel object", "kernel objects"),
			   row->before_inferred ? "reduced to fit NVML's number" : "sizes unknown");
	out_char(column->out, '\n');
}

static void top_line(struct column *column, const struct view *view, const struct view_proc *proc,
		     const struct view_row *row)
{
	uint64_t ts_ns = row->nvml_ts_ns;

	print_sum_cell(column->out, 0, "nvidia-smi (NVML)", tenths_of((int64_t)row->nvml, column->decimals),
		       column->decimals, " MiB");
	if (proc->exited)
		out_printf(column->out, "  at %s, %s before its end", text_when(view, ts_ns).s,
			   human_duration(proc->exit_ts_ns > ts_ns ? proc->exit_ts_ns - ts_ns : 0).s);
	else if (view->now_ns > ts_ns + STALE_NS)
		out_printf(column->out, "  at %s, %s before the end", text_when(view, ts_ns).s,
			   human_duration(view->now_ns - ts_ns).s);
	out_char(column->out, '\n');
}

static void with_nvml(struct out *out, const struct view *view, const struct view_proc *proc,
		      const struct view_row *row)
{
	const struct view_sum *s = &row->at_nvml;
	struct column column = { .out = out, .decimals = decimals_of(row->nvml, s) };

	top_line(&column, view, proc, row);
	physical_terms(&column, view, s);
	before_attach(&column, row);
	print_term(&column, "residual", s->residual);
	if (!row->has_physical)
		out_text(out, "      includes context, modules, rounding: the kernel layer was not active");
	out_char(out, '\n');
}

/* Without NVML: prints the present memory of the kernel driver, broken down. */
static void with_kernel(struct out *out, const struct view *view, const struct view_row *row)
{
	struct view_sum s = {
		.attributed = row->attributed.live, .context = row->context, .modules = row->modules,
		.pool_reserve = row->pool_reserve, .rounding = row->rounding, .other = row->other,
		.checkpointed = row->checkpointed,
	};
	struct column column = { .out = out };

	for (int c = 0; c < GMT_CLASS_COUNT; c++)
		if (gmt_class_is_device((enum gmt_class)c))
			s.by_class[c] = row->by_class[c].bytes.live;
	column.decimals = decimals_of(row->physical.live, &s);
	print_sum_cell(out, 0, "kernel driver, since attach", tenths_of((int64_t)row->physical.live, column.decimals),
		       column.decimals, " MiB\n");
	physical_terms(&column, view, &s);
}

void report_sum(struct out *out, const struct view *view, const struct view_proc *proc,
		const struct view_row *row)
{
	if (row->has_nvml) {
		with_nvml(out, view, proc, row);
		return;
	}
	out_printf(out, "    %-*s%*s\n", LABEL_COLUMNS, "nvidia-smi (NVML)", NUMBER_COLUMNS, "unknown");
	if (row->has_physical)
		with_kernel(out, view, row);
}
