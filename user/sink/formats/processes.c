/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints `gpumemtrace ps`: a line for each process that uses CUDA. */
#include "sink/formats/processes.h"

#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "base/js.h"
#include "base/out.h"
#include "core/terms/cuda_process.h"
#include "sink/json/json_cgroup.h"
#include "sink/sink.h"
#include "sink/text/text.h"

#define COMMAND_COLUMNS 200
#define USES_BYTES 512
#define PLACE_BYTES 400
#define HIDDEN_SHOWN 5           /* a line has room for these */

/* ---- text ---- */

/* "0: 2.4 GiB, 1: 856 MiB"; "-": none; "?": NVML does not say. */
static void text_uses(const struct cuda_processes *all, uint32_t pid, char *text, size_t size)
{
	size_t used = 0;

	snprintf(text, size, "%s", all->has_uses ? "-" : "?");
	for (size_t i = 0; i < all->use_count && used + 1 < size; i++) {
		const struct cuda_use *use = &all->uses[i];
		char index[32];

		if (use->pid != pid)
			continue;
		if (use->gpu.flags & GMT_GPU_MIG)
			snprintf(index, sizeof(index), "%u:%u", use->gpu.parent_index, use->gpu.index);
		else
			snprintf(index, sizeof(index), "%u", use->gpu.index);
		used += (size_t)snprintf(text + used, size - used, "%s%s: %s", used ? ", " : "", index,
					 use->used_bytes == UINT64_MAX ? "?" : human_bytes(use->used_bytes).s);
	}
}

static void text_place(const struct cuda_process *process, char *text, size_t size)
{
	if (process->pod[0])
		snprintf(text, size, "pod %s", process->pod);
	else
		text_cgroup(process->cgroup, text, size);
	if (!text[0])
		snprintf(text, size, "-");
}

/* The columns of a list are as wide as its texts. */
struct widths {
	int user, uses, place;
};

static int wider_text(int width, const char *text)
{
	int columns = (int)strlen(text);

	return columns > width ? columns : width;
}

static struct widths measure_list(const struct cuda_processes *all)
{
	struct widths widths = { 4, 3, 2 };
	char text[USES_BYTES];

	for (size_t i = 0; i < all->count; i++) {
		widths.user = wider_text(widths.user, all->list[i].user);
		text_uses(all, all->list[i].pid, text, sizeof(text));
		widths.uses = wider_text(widths.uses, text);
		text_place(&all->list[i], text, sizeof(text));
		widths.place = wider_text(widths.place, text);
	}
	return widths;
}

static void print_cell(struct out *out, int width, const char *text)
{
	out_pad(out, width - (int)human_print(out, (unsigned)width, text, strlen(text)));
	out_text(out, "  ");
}

static void print_line(struct out *out, const struct cuda_processes *all, const struct cuda_process *process,
			  const struct widths *widths)
{
	const char *command = process->cmdline[0] ? process->cmdline : process->comm;
	char text[USES_BYTES];

	out_printf(out, "%8u  ", process->pid);
	print_cell(out, widths->user, process->user);
	out_printf(out, "%9s  ", human_duration(process->age_ns).s);
	text_uses(all, process->pid, text, sizeof(text));
	print_cell(out, widths->uses, text);
	text_place(process, text, PLACE_BYTES);
	print_cell(out, widths->place, text);
	human_print(out, COMMAND_COLUMNS, command, strlen(command));
	out_char(out, '\n');
}

/* Who may use CUDA unseen, why, and what to do. */
static void print_hidden(struct out *out, const struct cuda_processes *all)
{
	size_t shown = all->hidden < HIDDEN_SHOWN ? all->hidden : HIDDEN_SHOWN;

	out_printf(out, "%zu %s not be inspected: the mappings of pid ", all->hidden,
		   human_plural(all->hidden, "process could", "processes could"));
	for (size_t i = 0; i < shown; i++) {
		const struct cuda_hidden *hidden = &all->hidden_list[i];

		out_printf(out, "%s%u (", i ? ", " : "", hidden->pid);
		human_print(out, GMT_COMM_BYTES, hidden->comm, strlen(hidden->comm));
		out_char(out, ')');
	}
	if (all->hidden > shown)
		out_printf(out, " and %zu more", all->hidden - shown);
	out_text(out, all->is_privileged ?
			 " may not be read, also with CAP_SYS_PTRACE: run gpumemtrace ps on the host, outside of a"
			 " container, or look into the log of the kernel's security module\n" :
			 " may not be read without CAP_SYS_PTRACE: run gpumemtrace ps as root\n");
}

void processes_print(struct out *out, const struct cuda_processes *all, const struct sink_opts *opts)
{
	struct widths widths = measure_list(all);

	if (all->count)
		text_format(out, opts, TEXT_BOLD, NULL, "%8s  %-*s  %9s  %-*s  %-*s  %s", "PID", widths.user, "USER",
			    "RUNNING", widths.uses, "GPU", widths.place, "IN", "COMMAND");
	else
		out_text(out, "no process uses CUDA\n");
	for (size_t i = 0; i < all->count; i++)
		print_line(out, all, &all->list[i], &widths);
	if (all->beyond)
		out_printf(out, "%zu more %s no room in the list\n", all->beyond,
			   human_plural(all->beyond, "process has", "processes have"));
	if (all->hidden)
		print_hidden(out, all);
	if (!all->has_uses)
		out_printf(out, "no memory of GPUs is shown: %s\n", all->why_no_uses);
}

/* ---- JSON ---- */

static json_t *uses_to_json(const struct cuda_processes *all, uint32_t pid)
{
	json_t *list = js_array();

	for (size_t i = 0; i < all->use_count; i++) {
		const struct cuda_use *use = &all->uses[i];
		bool is_mig = use->gpu.flags & GMT_GPU_MIG;

		if (use->pid != pid)
			continue;
		js_append(list, JS_OBJECT({ "index", js_u64(use->gpu.index) },
					  { "parent_index", js_u64_if(is_mig, use->gpu.parent_index) },
					  { "name", JS_TEXT(use->gpu.name) }, { "pci", JS_TEXT(use->gpu.pci) },
					  { "used_bytes", js_u64_if(use->used_bytes != UINT64_MAX, use->used_bytes) }));
	}
	return list;
}

static json_t *cuda_process_to_json(const struct cuda_processes *all, const struct cuda_process *process)
{
	json_t *value = JS_OBJECT({ "pid", js_u64(process->pid) }, { "uid", js_u64(process->uid) },
				  { "user", JS_TEXT(process->user) },
				  { "start_boottime_ns", js_u64(process->start_ns) },
				  { "comm", JS_TEXT(process->comm) }, { "cmdline", JS_TEXT(process->cmdline) });
	json_t *pod = process->pod[0] ? JS_TEXT(process->pod) : json_null();
	json_t *uses = all->has_uses ? uses_to_json(all, process->pid) : json_null();

	return JS_ADD(json_add_cgroup(value, process->cgroup), { "pod", pod }, { "gpus", uses });
}

void processes_print_json(struct out *out, const struct cuda_processes *all, const struct sink_opts *opts)
{
	json_t *list = js_array(), *hidden = js_array();

	for (size_t i = 0; i < all->count; i++)
		js_append(list, cuda_process_to_json(all, &all->list[i]));
	for (size_t i = 0; i < all->hidden && i < CUDA_HIDDEN_MOST; i++)
		js_append(hidden, JS_OBJECT({ "pid", js_u64(all->hidden_list[i].pid) },
					    { "comm", JS_TEXT(all->hidden_list[i].comm) }));
	js_write(out, JS_OBJECT({ "schema", js_word("gpumemtrace/1") }, { "type", js_word("processes") },
				{ "made_at", js_utc(opts->made_ns) }, { "processes", list },
				{ "hidden", js_u64(all->hidden) }, { "hidden_processes", hidden },
				{ "beyond", js_u64(all->beyond) },
				{ "why_no_gpus", js_word_if(!all->has_uses, all->why_no_uses) }), true);
}
