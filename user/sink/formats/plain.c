/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The live format without a terminal: in each interval a line for each process and GPU, for eyes and grep. Sizes have
 * units, because programs read --json instead. Warnings are printed again whenever losses have grown.
 *
 *   10:16:12 pid=4242 gpu=0 live=1.8GiB peak=1.9GiB physical=2.3GiB nvml=2.3GiB allocs=84 frees=42 ...
 */
#include <string.h>

#include "base/human.h"
#include "base/out.h"
#include "sink/compare/diff_names.h"
#include "sink/compare/ranks_sinks.h"
#include "sink/formats/processes.h"
#include "sink/oom/oom_sinks.h"
#include "sink/records/record_text.h"
#include "sink/report/report.h"
#include "sink/sink.h"
#include "sink/text/text.h"

static void print_field(struct out *out, const char *key, struct human value)
{
	out_printf(out, " %s=", key);
	for (const char *c = value.s; *c; c++)
		if (*c != ' ')
			out_char(out, *c);
}

static struct human unknown_value(void)
{
	return (struct human){ .s = "?" };
}

static void row_fields(struct out *out, const struct view *now, const struct view_proc *proc,
		       const struct view_row *row, const struct view *previous)
{
	struct text_rate rate = text_rate(now, proc, row, previous);
	struct text_sum sum;

	text_sum(row, &sum);
	print_field(out, "gpu", text_gpu(now, row->gpu));
	if (text_ordinal(now, row).s[0]) /* CUDA's number is another one */
		out_printf(out, " cuda=%u", row->ordinal);
	print_field(out, "live", human_bytes(row->attributed.live));
	print_field(out, "peak", human_bytes(row->attributed.peak));
	print_field(out, "physical", row->has_physical ? human_bytes(row->physical.live) : unknown_value());
	print_field(out, "nvml", row->has_nvml ? human_bytes(row->nvml) : unknown_value());
	if (row->torch.seen) {
		print_field(out, "torch", human_bytes(row->torch.allocated.live));
		print_field(out, "torch-reserved", human_bytes(row->torch.reserved.live));
	}
	if (!proc->from_start)
		print_field(out, "before", human_bytes(row->before_attach));
	out_printf(out, " allocs=%llu frees=%llu failed=%llu", (unsigned long long)sum.allocs,
		   (unsigned long long)sum.frees, (unsigned long long)sum.failed);
	if (rate.valid) {
		print_field(out, "rate", human_rate(rate.bytes));
		print_field(out, "calls/s", human_short(rate.calls));
	}
	print_field(out, "imported", human_bytes(row->by_class[GMT_CLASS_IMPORTED].bytes.live));
}

static void print_plain_line(struct out *out, const struct view *now, const struct view_proc *proc,
			     const struct view_row *row, const struct view *previous, const struct sink_opts *opts)
{
	/* The clock goes on without records, too. */
	uint64_t now_ns = opts->now_ns > now->now_ns ? opts->now_ns : now->now_ns;
	struct human clock = text_clock(now, now_ns);
	struct out line;

	out_init_mem(&line);
	out_printf(&line, "pid=%u", proc->tgid);
	if (row)
		row_fields(&line, now, proc, row, previous);
	print_field(&line, "pinned", human_bytes(proc->by_class[GMT_CLASS_PINNED].bytes.live));
	print_field(&line, "managed", human_bytes(proc->by_class[GMT_CLASS_MANAGED].bytes.live));
	out_text(&line, " comm=");
	human_print(&line, 32, proc->comm, sizeof(proc->comm));
	text_wrap(out, clock.s, (unsigned)strlen(clock.s) + 1, opts->columns, &line);
}

static void exit_line(struct out *out, const struct view *now, const struct view_proc *proc)
{
	out_printf(out, "%s pid=%u %s\n", text_clock(now, proc->exit_ts_ns).s, proc->tgid,
		   text_exit(proc->exit_code).s);
}

/* Losses count whenever they grow; an anomaly counts only the first time, because some anomalies grow long after a
 * late attach. */
static bool warnings_changed(const struct view *now, const struct view *previous)
{
	if (!previous || view_lost(now) != view_lost(previous))
		return true;
	for (int i = 0; i < GMT_ANOMALY_COUNT; i++)
		if (text_odd(now, (enum gmt_anomaly)i) && !text_odd(previous, (enum gmt_anomaly)i))
			return true;
	for (size_t i = 0; i < now->proc_count; i++) {
		const struct view_proc *old = text_find_proc(previous, &now->procs[i]);

		if (now->procs[i].torch_silence && (!old || !old->torch_silence))
			return true;
	}
	return false;
}

/* Whether the process has ever had memory of the host, or asked for any. */
static bool has_used_host(const struct view_proc *proc)
{
	for (int i = 0; i < GMT_CLASS_COUNT; i++)
		if (proc->by_class[i].allocs || proc->by_class[i].failed)
			return true;
	return false;
}

static void print_plain_live(struct out *out, const struct view *now, const struct view *previous,
			     const struct sink_opts *opts)
{
	for (size_t i = 0; i < now->proc_count; i++) {
		const struct view_proc *proc = &now->procs[i];
		const struct view_proc *old = text_find_proc(previous, proc);

		if (proc->exited) {
			if (proc->row_count && (!old || !old->exited))
				exit_line(out, now, proc);
			continue;
		}
		for (size_t r = 0; r < proc->row_count; r++)
			print_plain_line(out, now, proc, &proc->rows[r], previous, opts);
		/* A process that has not used CUDA yet has no line. */
		if (!proc->row_count && has_used_host(proc))
			print_plain_line(out, now, proc, NULL, previous, opts);
	}
	if (warnings_changed(now, previous))
		report_warnings(out, now, opts, opts->columns);
}

const struct sink sink_plain = {
	.name = "plain",
	.live = print_plain_live,
	.report = report_print,
	.oom = oom_print_next,
	.no_oom = oom_print_none,
	.oom_row = oom_print_row,
	.diff = diff_print,
	.ranks = ranks_print,
	.record = record_print,
	.doctor = doctor_print,
	.list = list_print,
	.processes = processes_print,
};
