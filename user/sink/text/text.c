/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/text/text.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/out.h"
#include "base/path.h"
#include "core/terms/cgroup_parts.h"
#include "sink/sink.h"

#define NS_PER_S 1e9
#define NS_PER_DAY (86400 * 1000000000ull)

void text_sum(const struct view_row *row, struct text_sum *sum)
{
	*sum = (struct text_sum){ 0 };
	for (int c = 0; c < GMT_CLASS_COUNT; c++) {
		const struct view_class *class = &row->by_class[c];

		if (!gmt_class_is_device((enum gmt_class)c))
			continue;
		sum->live_count += class->live_count;
		sum->allocs += class->allocs;
		sum->frees += class->frees;
		sum->alloc_bytes += class->alloc_bytes;
		sum->freed_bytes += class->freed_bytes;
		sum->failed += class->failed;
	}
}

const struct view_proc *text_find_proc(const struct view *view, const struct view_proc *proc)
{
	for (size_t i = 0; view && i < view->proc_count; i++) {
		const struct view_proc *other = &view->procs[i];

		/* attach_ts_ns tells a reused pid apart even if the start time is not known. */
		if (other->tgid == proc->tgid && other->attach_ts_ns == proc->attach_ts_ns)
			return other;
	}
	return NULL;
}

/* The same GPU of the process, or NULL: `row` is of the view `other`. */
static const struct view_row *find_row(const struct view *view, const struct view_proc *proc, const struct view *other,
				       const struct view_row *row)
{
	for (size_t i = 0; proc && i < proc->row_count; i++) {
		const struct view_row *candidate = &proc->rows[i];

		if (candidate->gpu < 0 || row->gpu < 0) {
			if (candidate->gpu == row->gpu)
				return candidate;
			continue;
		}
		if (!memcmp(view->gpus[candidate->gpu].uuid, other->gpus[row->gpu].uuid, GMT_UUID_BYTES))
			return candidate;
	}
	return NULL;
}

struct text_rate text_rate(const struct view *now, const struct view_proc *proc, const struct view_row *row,
			   const struct view *previous)
{
	const struct view_row *old = find_row(previous, text_find_proc(previous, proc), now, row);
	struct text_sum sum, before = { 0 };
	struct text_rate rate = { 0 };
	double seconds;

	if (!previous || now->now_ns <= previous->now_ns)
		return rate;
	seconds = (now->now_ns - previous->now_ns) / NS_PER_S;
	text_sum(row, &sum);
	if (old)
		text_sum(old, &before);
	rate.valid = true;
	rate.bytes = (double)(sum.alloc_bytes - before.alloc_bytes) / seconds;
	rate.calls = (double)(sum.allocs + sum.frees - before.allocs - before.frees) / seconds;
	return rate;
}

struct human text_gpu(const struct view *view, int gpu)
{
	const struct view_gpu *g = gpu >= 0 ? &view->gpus[gpu] : NULL;
	struct human h;

	if (!g)
		snprintf(h.s, sizeof(h.s), "?");
	else if (g->index == UINT32_MAX)
		snprintf(h.s, sizeof(h.s), "%02x%02x", g->uuid[0], g->uuid[1]);
	else if (g->flags & GMT_GPU_MIG)
		snprintf(h.s, sizeof(h.s), "%u:%u", g->parent_index, g->index);
	else
		snprintf(h.s, sizeof(h.s), "%u", g->index);
	return h;
}

struct human text_ordinal(const struct view *view, const struct view_row *row)
{
	const struct view_gpu *g = row->gpu >= 0 ? &view->gpus[row->gpu] : NULL;
	struct human h = { "" };

	if (g && row->ordinal != VIEW_ORDINAL_UNKNOWN && (row->ordinal != g->index || (g->flags & GMT_GPU_MIG)))
		snprintf(h.s, sizeof(h.s), "cuda:%u = %s %.8s", row->ordinal,
			 g->flags & GMT_GPU_MIG ? "MIG" : "GPU", text_gpu(view, row->gpu).s);
	return h;
}

struct human text_offset(const struct view *view, uint64_t ts_ns)
{
	uint64_t offset = view_since_start(view, ts_ns);
	struct human h;

	snprintf(h.s, sizeof(h.s), "+%.30s", human_duration(offset).s);
	return h;
}

static uint64_t wall_of(const struct view *view, uint64_t ts_ns)
{
	return view->wall_start_ns + (ts_ns - view->start_ns);
}

struct human text_clock(const struct view *view, uint64_t ts_ns)
{
	if (!view->wall_start_ns)
		return text_offset(view, ts_ns);
	return human_wall(wall_of(view, ts_ns), "%H:%M:%S");
}

struct human text_when(const struct view *view, uint64_t ts_ns)
{
	uint64_t day = wall_of(view, ts_ns) / NS_PER_DAY;

	if (!view->wall_start_ns ||
	    (day == view->wall_start_ns / NS_PER_DAY && day == wall_of(view, view->now_ns) / NS_PER_DAY))
		return text_clock(view, ts_ns);
	return human_wall(wall_of(view, ts_ns), "%Y-%m-%d %H:%M");
}

/* ---- lines that are not too long ---- */

#define ROOM_LEAST 20        /* a line with less room is not broken */
#define HANG_COLUMNS 2

void text_wrap(struct out *out, const char *label, unsigned indent, unsigned columns, struct out *from)
{
	unsigned hang = indent + (strlen(label) < indent ? HANG_COLUMNS : 0);
	bool is_broken = columns >= hang + ROOM_LEAST;
	unsigned room = is_broken ? columns - indent : UINT_MAX, whole = is_broken ? columns - hang : UINT_MAX;
	char *text = out_take(from);

	out_printf(out, "%-*s", (int)indent, label);
	for (const char *at = text + strspn(text, " "); *at;) {
		size_t size = human_line(at, room, whole);

		out_bytes(out, at, size);
		at += size;
		at += strspn(at, " ");
		if (*at)
			out_printf(out, "\n%*s", (int)hang, "");
		room = whole;
	}
	out_char(out, '\n');
	free(text);
}

/* ---- cgroups ---- */

void text_cgroup(const char *cgroup, char *text, size_t size)
{
	const char *last = strrchr(cgroup, '/');
	struct cgroup_parts parts;

	cgroup_parts_read(cgroup, strlen(cgroup), &parts);
	/* Kubernetes runs the other runtimes, so its name says more. */
	if (parts.container[0])
		snprintf(text, size, "%s %.12s", parts.is_kubernetes ? "kubernetes" :
			 cgroup_runtime_name(parts.runtime), parts.container);
	else if (parts.job[0])
		snprintf(text, size, "Slurm job %s%s%s", parts.job, parts.step[0] ? " step " : "", parts.step);
	else
		snprintf(text, size, "%s", last ? last + 1 : cgroup);
}

unsigned text_command(struct out *out, unsigned columns, const struct view_proc *proc)
{
	const char *end = proc->cmdline + strcspn(proc->cmdline, " "), *script = end + (*end == ' ');
	const char *program = path_base_sized(proc->cmdline, (size_t)(end - proc->cmdline));
	char text[sizeof(proc->cmdline) + 1];

	if (script[0] == '/')
		script = path_base_sized(script, strcspn(script, " "));
	if (proc->cmdline[0])
		snprintf(text, sizeof(text), "%.*s%s%s", (int)(end - program), program, script[0] ? " " : "", script);
	else
		snprintf(text, sizeof(text), "%s", proc->comm[0] ? proc->comm : "(name unknown)");
	return human_print(out, columns, text, strlen(text));
}

/* Does the same as sigabbrev_np(), which glibc has from 2.32 on. NULL: a real-time signal, or no signal. */
static const char *signal_name(int number)
{
#define NAME(name) [SIG##name] = #name
	static const char *const names[] = {
		NAME(HUP), NAME(INT), NAME(QUIT), NAME(ILL), NAME(TRAP), NAME(ABRT), NAME(BUS), NAME(FPE),
		NAME(KILL), NAME(USR1), NAME(SEGV), NAME(USR2), NAME(PIPE), NAME(ALRM), NAME(TERM), NAME(STKFLT),
		NAME(CHLD), NAME(CONT), NAME(STOP), NAME(TSTP), NAME(TTIN), NAME(TTOU), NAME(URG), NAME(XCPU),
		NAME(XFSZ), NAME(VTALRM), NAME(PROF), NAME(WINCH), NAME(POLL), NAME(PWR), NAME(SYS),
	};
#undef NAME

	return number >= 0 && (size_t)number < sizeof(names) / sizeof(names[0]) ? names[number] : NULL;
}

struct human text_exit(int status)
{
	struct human h;
	const char *name = status >= 0 && WIFSIGNALED(status) ? signal_name(WTERMSIG(status)) : NULL;

	if (status == GMT_EXIT_CODE_UNKNOWN)
		snprintf(h.s, sizeof(h.s), "ended with unknown status");
	else if (name)
		snprintf(h.s, sizeof(h.s), "killed by SIG%.16s", name);
	else if (WIFSIGNALED(status))
		snprintf(h.s, sizeof(h.s), "killed by signal %d", WTERMSIG(status));
	else
		snprintf(h.s, sizeof(h.s), "exited with %d", WEXITSTATUS(status));
	return h;
}

bool text_is_expected(const struct view_proc *proc, enum gmt_anomaly anomaly)
{
	return !proc->from_start &&
	       (anomaly == GMT_ANOMALY_FREE_UNKNOWN || anomaly == GMT_ANOMALY_RM_FREE_UNKNOWN);
}

uint64_t text_odd(const struct view *view, enum gmt_anomaly anomaly)
{
	uint64_t odd = view->anomalies[anomaly];

	for (size_t p = 0; p < view->proc_count; p++)
		if (text_is_expected(&view->procs[p], anomaly))
			odd -= view->procs[p].anomalies[anomaly];
	return odd;
}

struct human text_layers(uint32_t layers)
{
	struct human h = { "" };
	const char *name;
	unsigned int bit;
	size_t used = 0;

	for (size_t i = 0; (name = gmt_layer_name(i, &bit)); i++)
		if (layers & bit && used < sizeof(h.s))
			used += (size_t)snprintf(h.s + used, sizeof(h.s) - used, "%s%s", used ? " " : "", name);
	if (!used)
		snprintf(h.s, sizeof(h.s), "unknown");
	return h;
}

void text_styled(struct out *out, const struct sink_opts *opts, enum text_style style, const char *text)
{
	/* ECMA-48 SGR */
	static const char *const styles[] = {
		[TEXT_PLAIN] = "", [TEXT_BOLD] = "\033[1m",
		[TEXT_RED] = "\033[1;31m", [TEXT_YELLOW] = "\033[33m", [TEXT_GREEN] = "\033[32m",
	};
	size_t size = strlen(text);
	bool is_styled = opts->color && style != TEXT_PLAIN;

	out_text(out, is_styled ? styles[style] : "");
	human_print(out, (unsigned)size, text, size);
	out_text(out, is_styled ? "\033[0m" : "");
}

void text_line(struct out *out, const struct sink_opts *opts, enum text_style style, struct out *line)
{
	char *text = out_take(line);

	text_styled(out, opts, style, text);
	out_char(out, '\n');
	free(text);
}

void text_item(struct out *out, const struct sink_opts *opts, enum text_style style, const struct text_place *place,
	       struct out *from)
{
	char *text = out_take(from), *lines, *rest, *line;
	struct out clean, wrapped;

	out_init_mem(&clean);
	human_print(&clean, (unsigned)strlen(text), text, strlen(text));
	out_init_mem(&wrapped);
	text_wrap(&wrapped, place->label, place->indent, place->columns, &clean);
	rest = lines = out_take(&wrapped);
	while ((line = strsep(&rest, "\n")) && rest) {
		text_styled(out, opts, style, line);
		out_char(out, '\n');
	}
	free(lines);
	free(text);
}

void text_format(struct out *out, const struct sink_opts *opts, enum text_style style, const struct text_place *place,
		 const char *format, ...)
{
	struct out line;
	va_list args;

	out_init_mem(&line);
	va_start(args, format);
	out_vprintf(&line, format, args);
	va_end(args);
	if (place)
		text_item(out, opts, style, place, &line);
	else
		text_line(out, opts, style, &line);
}
