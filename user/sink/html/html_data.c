// SPDX-License-Identifier: BSD-2-Clause
#include "sink/html/html_data.h"

#include <inttypes.h>
#include <string.h>

#include "base/human.h"
#include "base/out.h"
#include "core/terms/oom_why.h"
#include "core/terms/own_code.h"
#include "core/view/finding.h"
#include "core/view/looked.h"
#include "core/view/view.h"
#include "sink/html/html_events.h"
#include "sink/html/html_page.h"
#include "sink/html/html_segments.h"
#include "sink/html/html_series.h"
#include "sink/html/html_text.h"
#include "sink/html/source_lines.h"
#include "sink/report/report.h"
#include "sink/sink.h"
#include "sink/text/finding_text.h"
#include "sink/text/stack_text.h"
#include "sink/text/text.h"

/* ---- what all processes share ---- */

/* Of a frame: whether it is the program's own code, as far as its file says. */
static bool is_own(const struct view_symbol *symbol)
{
	return symbol->is_python && !symbol->is_skipped && own_code_of(symbol->file) == OWN_CODE_PROGRAM;
}

/* Pairs of a name and whether the frame is the program's own code. */
static json_t *page_symbols(const struct view *view)
{
	json_t *list = js_array();

	for (size_t i = 0; i < view->symbol_count; i++) {
		json_t *pair = js_array();
		struct out name;

		out_init_mem(&name);
		stack_text_name(&name, &view->symbols[i]);
		js_append(pair, html_text_of(&name));
		js_append(pair, js_u64(is_own(&view->symbols[i])));
		js_append(list, pair);
	}
	return list;
}

/* [frames, owner, module, line]; -1 where there is none. */
static json_t *page_stack(const struct view *view, const struct view_stack *stack)
{
	json_t *list = js_array(), *frames = js_array();
	struct out head;

	for (uint32_t i = 0; i < stack->frame_count; i++)
		js_append(frames, js_u64(stack->frames[i]));
	out_init_mem(&head);
	if (stack->own < stack->frame_count)   /* as the report's tables and findings name the line */
		stack_text_place(&head, view->symbols + stack->frames[stack->own]);
	else
		stack_text_head(&head, view, stack);
	js_append(list, frames);
	js_append(list, js_u64(stack->owner));
	js_append(list, json_integer(stack->module == VIEW_NO_MODULE ? -1 : (json_int_t)stack->module));
	js_append(list, html_text_of(&head));
	js_append(list, js_u64(stack->state));
	return list;
}

static json_t *page_stacks(const struct view *view)
{
	json_t *list = js_array();

	for (size_t i = 0; i < view->stack_count; i++)
		js_append(list, page_stack(view, &view->stacks[i]));
	return list;
}

static json_t *page_words(char *const *words, size_t count)
{
	json_t *list = js_array();

	for (size_t i = 0; i < count; i++)
		js_append(list, js_word(words[i]));
	return list;
}

static json_t *page_owners(const struct view *view)
{
	json_t *list = js_array();

	for (size_t i = 0; i < view->owner_count; i++)
		js_append(list, js_word(view->owners[i].text));
	return list;
}

static json_t *page_categories(void)
{
	json_t *list = js_array();

	for (unsigned int i = 0; i < GMT_CATEGORY_COUNT; i++)
		js_append(list, js_word(gmt_category_text(i)));
	return list;
}

static json_t *page_phases(void)
{
	json_t *list = js_array();

	for (unsigned int i = 0; i < GMT_TRAINING_COUNT; i++)
		js_append(list, js_word(gmt_training_text(i)));
	return list;
}

static json_t *page_classes(void)
{
	static const char *const beside[] = {
		[TIMELINE_DRIVER - GMT_CLASS_COUNT] = "by the kernel driver, no call seen",
		[TIMELINE_TOLD - GMT_CLASS_COUNT] = "by nvidia-smi, no call seen",
		[TIMELINE_SEGMENT - GMT_CLASS_COUNT] = "device memory",
	};
	json_t *list = js_array();

	for (unsigned int i = 0; i < GMT_CLASS_COUNT; i++)
		js_append(list, js_word(gmt_class_text(i)));
	for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++)
		js_append(list, js_word(beside[i]));
	return list;
}

/* Of a long text, a place has the end. */
static bool is_end_of(const char *end, const char *text)
{
	size_t size = strlen(text), end_size = strlen(end);

	return size >= end_size && !strcmp(text + size - end_size, end);
}

/* The line that a finding blames; NULL: it blames no line of a file. */
static const struct view_symbol *blamed_line(const struct view *view, const struct finding *f)
{
	const struct oom_place *place = f->why ? finding_text_why_place(f->why) : NULL;

	if (f->line)
		return f->line->state == VIEW_LINE_OWN ? &view->symbols[f->line->symbol] : NULL;
	for (size_t i = 0; place && place->file[0] && i < view->symbol_count; i++) {
		const struct view_symbol *s = &view->symbols[i];

		if (s->line == place->line && is_end_of(place->file, s->file) &&
		    is_end_of(place->function, s->function))
			return s;
	}
	return NULL;
}

/* The name of the finding's line, as bands have it. */
static json_t *page_line(const struct view *view, const struct finding *f, const struct view_symbol *blamed)
{
	struct out line;

	out_init_mem(&line);
	if (f->line)
		stack_text_line(&line, view, f->line);
	else if (blamed)
		stack_text_place(&line, blamed);
	return html_text_of(&line);
}

static json_t *page_finding(const struct view *view, const struct finding *f, const struct sink_opts *opts)
{
	const struct view_symbol *blamed = blamed_line(view, f);
	const char *remedy = finding_text_remedy(view, f);
	struct out sentence;

	out_init_mem(&sentence);
	finding_text_say(&sentence, view, f);
	return JS_OBJECT({ "name", js_word(finding_name(f->kind)) },
			 { "since_ns", js_u64(view_since_start(view, f->since_ns)) },
			 { "label", js_word(finding_text_label(f->kind)) }, { "sentence", html_text_of(&sentence) },
			 { "line", page_line(view, f, blamed) }, { "remedy", js_word(remedy ? remedy : "") },
			 { "ground", js_word(finding_ground_name(finding_ground(f->kind))) },
			 { "source", opts->source && blamed ? source_lines_of(view, blamed) : json_null() },
			 { "process", json_integer(f->proc == FINDING_NONE ? -1 : (json_int_t)f->proc) },
			 { "row", json_integer(f->row == FINDING_NONE ? -1 : (json_int_t)f->row) });
}

static json_t *page_findings(const struct view *view, const struct sink_opts *opts)
{
	json_t *list = js_array();

	for (size_t i = 0; i < view->finding_count; i++)
		js_append(list, page_finding(view, &view->findings[i], opts));
	return list;
}

/* ---- processes ---- */

static json_t *page_row(const struct view *view, const struct view_row *row)
{
	const struct view_gpu *gpu = row->gpu == VIEW_GPU_UNKNOWN ? NULL : &view->gpus[row->gpu];
	const struct view_timeline *t = row->timeline;

	return JS_OBJECT({ "gpu", js_word(text_gpu(view, row->gpu).s) },
			 { "ordinal", js_word(text_ordinal(view, row).s) },
			 { "gpu_name", js_word(gpu ? gpu->name : "") }, { "total", js_u64(gpu ? gpu->total_bytes : 0) },
			 { "is_bare", json_boolean(t && t->is_bare) },
			 { "calls", t ? html_series(view, &t->calls) : json_null() },
			 { "beside", js_u64(t ? t->beside : 0) },
			 { "levels", t ? html_series(view, &t->levels) : json_null() },
			 { "blocks", t && t->has_blocks ? html_series(view, &t->blocks) : json_null() },
			 { "phases", t ? html_phases(view, &t->phases) : json_null() });
}

static json_t *page_process(const struct view *view, const struct view_proc *proc)
{
	json_t *rows = js_array();

	for (size_t i = 0; i < proc->row_count; i++)
		js_append(rows, page_row(view, &proc->rows[i]));
	return JS_OBJECT({ "pid", js_u64(proc->tgid) }, { "comm", JS_TEXT(proc->comm) },
			 { "command", JS_TEXT(proc->cmdline) }, { "from_start", json_boolean(proc->from_start) },
			 { "attach_ns", js_u64(view_since_start(view, proc->attach_ts_ns)) }, { "rows", rows });
}

static json_t *page_processes(const struct view *view)
{
	json_t *list = js_array();

	for (size_t i = 0; i < view->proc_count; i++)
		js_append(list, page_process(view, &view->procs[i]));
	return list;
}

static void note_beside(struct out *out, const struct view *view, const struct view_proc *proc)
{
	for (size_t i = 0; i < proc->row_count; i++) {
		const struct view_row *row = &proc->rows[i];

		if (row->timeline && row->timeline->beside)
			out_printf(out, "pid %u held %s more on GPU %s when the picture was taken, in memory"
				   " without an address, such as handles that are not mapped: the dump does not say"
				   " since when\n",
				   proc->tgid, human_bytes(row->timeline->beside).s, text_gpu(view, row->gpu).s);
	}
}

/* What is missing or odd, each a sentence. */
static json_t *page_notes(const struct view *view, const struct sink_opts *opts)
{
	json_t *list = js_array();
	struct out text;

	out_init_mem(&text);
	report_warnings(&text, view, opts, 0);
	if (view->ended.count)
		out_printf(&text, "%" PRIu64 " %s long ago: what %s over time is not kept\n", view->ended.count,
			   human_plural(view->ended.count, "process ended", "processes ended"),
			   human_plural(view->ended.count, "it held", "they held"));
	if (view->lives && view->lives->shed_ns)
		out_printf(&text, "gpumemtrace's own memory was short (--memory): single events before +%.3f s are"
			   " given up, and memory over time is less exact\n",
			   (double)view_since_start(view, view->lives->shed_ns) / 1e9);
	for (size_t i = 0; i < view->proc_count; i++)
		note_beside(&text, view, &view->procs[i]);
	for (size_t at = 0; at < text.size;) {
		const char *end = memchr(text.data + at, '\n', text.size - at);
		size_t size = end ? (size_t)(end - text.data) - at : text.size - at;

		if (size)
			js_append(list, js_text(text.data + at, size));
		at += size + 1;
	}
	out_close(&text);
	return list;
}

/* Whether any question was put to the numbers: else it says nothing that nothing was found. */
static bool was_looked_at(const struct view *view)
{
	enum looked by[LOOKED_FOR_COUNT];

	looked_at(view, by);
	for (int i = 0; i < LOOKED_FOR_COUNT; i++)
		if (by[i] == LOOKED_AT)
			return true;
	return false;
}

void html_put_data(struct out *out, const struct view *view, bool is_dump, const struct sink_opts *opts)
{
	html_page_data_begin(out);
	html_put_json(out, "start_ns", js_u64(view->start_ns), opts->redact);
	html_put_json(out, "wall_ms", js_u64(view->wall_start_ns / 1000000), opts->redact);
	html_put_json(out, "length_ns", js_u64(view->now_ns - view->start_ns), opts->redact);
	html_put_json(out, "is_dump", json_boolean(is_dump), opts->redact);
	html_put_json(out, "notes", page_notes(view, opts), opts->redact);
	html_put_json(out, "symbols", page_symbols(view), opts->redact);
	html_put_json(out, "stacks", page_stacks(view), opts->redact);
	html_put_json(out, "owners", page_owners(view), opts->redact);
	html_put_json(out, "modules", page_words(view->modules, view->module_count), opts->redact);
	html_put_json(out, "classes", page_classes(), opts->redact);
	html_put_json(out, "categories", page_categories(), opts->redact);
	html_put_json(out, "phases", page_phases(), opts->redact);
	html_put_json(out, "was_looked_at", json_boolean(was_looked_at(view)), opts->redact);
	html_put_json(out, "findings", page_findings(view, opts), opts->redact);
	html_put_json(out, "processes", page_processes(view), opts->redact);
	html_put_events(out, view);
	html_put_segments(out, view);
	html_page_data_end(out);
}
