// SPDX-License-Identifier: BSD-2-Clause
/*
 * Writes a profile for pprof (github.com/google/pprof), compressed with gzip. The message is that of pprof's
 * proto/profile.proto: the numbers of its fields stand below and in pprof_names.c. Fields may come in any order, so a
 * sample is written as soon as it is known: the profile is never in memory as a whole.
 *
 * The sample types are those of Go's heap profiles, with one for each other order of stack traces (view_order). Labels
 * say whose memory a sample is. `kind` and `device` are the labels of jax.profiler.device_memory_profile(), with the
 * values that JAX writes: of an array on a GPU `buffer` and "cuda:0" (jaxlib/py_client.cc, PyClient::HeapProfile; xla's
 * pjrt_stream_executor_client.h, SetClient). JAX's sample types, `allocations` and `space`, have what is live alone,
 * and would stand beside `inuse_objects` and `inuse_space` as the same numbers; so they are not written.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/count.h"
#include "base/human.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "sink/export/gzip.h"
#include "sink/export/pprof_names.h"
#include "sink/export/protobuf.h"
#include "sink/sink.h"
#include "sink/text/text.h"

/* The fields of profile.proto's messages. */
enum profile_field {
	PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE = 2, PROFILE_TIME_NANOS = 9, PROFILE_DURATION_NANOS = 10,
	PROFILE_COMMENT = 13, PROFILE_DEFAULT_SAMPLE_TYPE = 14,
};
enum value_type_field { VALUE_TYPE_TYPE = 1, VALUE_TYPE_UNIT = 2 };
enum sample_field { SAMPLE_LOCATION_ID = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum label_field { LABEL_KEY = 1, LABEL_STR = 2 };

/* X(NAME, type, unit, member of struct view_held) */
#define SAMPLE_TYPES(X)                                                           \
	X(ALLOC_OBJECTS, "alloc_objects", "count", allocs)                        \
	X(ALLOC_SPACE, "alloc_space", "bytes", alloc_bytes)                       \
	X(INUSE_OBJECTS, "inuse_objects", "count", live_count)                    \
	X(INUSE_SPACE, "inuse_space", "bytes", live)                              \
	X(PEAK_SPACE, "peak_space", "bytes", at_peak)                             \
	X(GROWTH_SPACE, "growth_space", "bytes", grown)                           \
	X(OLD_OBJECTS, "old_objects", "count", old_count)                         \
	X(OLD_SPACE, "old_space", "bytes", old_bytes)
enum {
#define X(name, type, unit, member) SAMPLE_##name,
	SAMPLE_TYPES(X)
#undef X
	SAMPLE_TYPE_COUNT
};
struct values {
	int64_t of[SAMPLE_TYPE_COUNT];
};

struct profile {
	struct out *out;
	const struct view *view;
	struct pprof_names names;
	struct out message, part; /* scratch: what is being written, and a message in it */
	uint64_t *locations;     /* scratch */
	size_t location_room;
};

/* Whose memory the next samples are: indices in the string table; 0: there is no such label. */
struct labels {
	uint64_t kind, gpu, device, pid, comm;
};

static uint64_t text_index(struct profile *p, const char *text)
{
	return pprof_text(&p->names, text);
}

/* ---- samples ---- */

static struct values values_of(const struct view_held *held)
{
	return (struct values){ {
#define X(name, type, unit, member) [SAMPLE_##name] = (int64_t)held->member,
		SAMPLE_TYPES(X)
#undef X
	} };
}

static bool is_any(const struct values *values)
{
	int64_t any = 0;

	for (size_t i = 0; i < COUNT(values->of); i++)
		any |= values->of[i];
	return any;
}

static void add_label(struct profile *p, const char *key, uint64_t value)
{
	uint64_t key_index = text_index(p, key);

	if (!value)
		return;
	proto_number(&p->part, LABEL_KEY, key_index);
	proto_number(&p->part, LABEL_STR, value);
	proto_message(&p->message, SAMPLE_LABEL, &p->part);
}

/* Begins a sample with `count` of p->locations, the innermost first. */
static void begin_sample(struct profile *p, const struct labels *labels, size_t count, const struct values *values)
{
	proto_packed(&p->message, SAMPLE_LOCATION_ID, p->locations, count);
	proto_packed(&p->message, SAMPLE_VALUE, (const uint64_t *)values->of, COUNT(values->of));
	add_label(p, "kind", labels->kind);
	add_label(p, "gpu", labels->gpu);
	add_label(p, "device", labels->device);
	add_label(p, "pid", labels->pid);
	add_label(p, "comm", labels->comm);
}

static void end_sample(struct profile *p)
{
	proto_message(p->out, PROFILE_SAMPLE, &p->message);
}

static void make_room(struct profile *p, size_t count)
{
	if (count <= p->location_room)
		return;
	p->locations = xreallocarray(p->locations, count, sizeof(*p->locations));
	p->location_room = count;
}

/* A sample of memory that has no stack trace. */
static void write_other(struct profile *p, const struct labels *labels, enum pprof_other_frame frame,
			const struct values *values)
{
	if (!is_any(values))
		return;
	make_room(p, 1);
	p->locations[0] = pprof_other_location(&p->names, frame);
	begin_sample(p, labels, 1, values);
	end_sample(p);
}

static void write_sample(struct profile *p, const struct labels *labels, const struct view_stack_row *row)
{
	const struct view_stack *stack = &p->view->stacks[row->stack];
	const struct view_owner_text *owner = &p->view->owners[stack->owner];
	struct values values = values_of(&row->held);
	size_t count = stack->state == VIEW_STACK_NAMED ? stack->frame_count : 1;

	make_room(p, count);
	p->locations[0] = pprof_other_location(&p->names, stack->state == VIEW_STACK_NONE ? PPROF_NO_STACK :
									    PPROF_NOT_NAMED);
	for (size_t i = 0; i < count && stack->state == VIEW_STACK_NAMED; i++)
		p->locations[i] = pprof_location(stack->frames[i]);
	begin_sample(p, labels, count, &values);
	add_label(p, "owner", stack->state == VIEW_STACK_NAMED ? text_index(p, owner->name) : 0);
	add_label(p, "allocator", text_index(p, owner->allocator ? owner->allocator : ""));
	add_label(p, "category", row->purpose ? text_index(p, gmt_category_name(row->purpose - 1u)) : 0);
	add_label(p, "module", stack->module == VIEW_NO_MODULE ? 0 : text_index(p, p->view->modules[stack->module]));
	end_sample(p);
}

static void add_values(struct values *sum, const struct view_held *held)
{
	struct values values = values_of(held);

	for (size_t i = 0; i < COUNT(sum->of); i++)
		sum->of[i] += values.of[i];
}

/* A sample for each stack, and the sum of all. with_segments: false leaves out the stacks that allocated a framework's
 * segments; then the sum is theirs. */
static struct values write_samples(struct profile *p, const struct labels *labels, const struct view_stacks *stacks,
				  bool with_segments)
{
	struct values sum = { { 0 } };

	for (int order = 0; order < VIEW_ORDER_COUNT; order++) {
		const struct view_top *top = &stacks->top[order];

		for (size_t i = 0; i < top->count; i++) {
			bool is_written = with_segments || !top->rows[i].is_segment;

			if (!view_is_first_in(&top->rows[i].held, (enum view_order)order))
				continue;
			if (is_written)
				write_sample(p, labels, &top->rows[i]);
			if (is_written == with_segments)
				add_values(&sum, &top->rows[i].held);
		}
	}
	return sum;
}

/* What no block uses: so many bytes less the blocks'. Blocks may be more, where segments were used again or came before
 * the attach. Nobody counts the pieces. */
static struct values cached_values(const struct values *segments, const struct values *blocks)
{
	static const bool is_count[] = { [SAMPLE_ALLOC_OBJECTS] = true, [SAMPLE_INUSE_OBJECTS] = true,
					 [SAMPLE_OLD_OBJECTS] = true, [SAMPLE_OLD_SPACE] = false };
	struct values rest = { { 0 } };

	for (size_t i = 0; i < COUNT(rest.of); i++) {
		int64_t bytes = segments->of[i] - blocks->of[i];

		rest.of[i] = !is_count[i] && (bytes > 0 || i == SAMPLE_GROWTH_SPACE) ? bytes : 0;
	}
	return rest;
}

/* Blocks take the place of the segments that they lie in, as in folded stack traces (folded.c). */
static void write_row(struct profile *p, struct labels *labels, const struct view_row *row)
{
	bool has_blocks = view_has_stacks(&row->torch.stacks);
	uint64_t buffer = text_index(p, "buffer");
	struct values sum, rest = { { 0 } };

	labels->kind = text_index(p, "allocation");
	sum = write_samples(p, labels, &row->stacks, !has_blocks);
	if (has_blocks) {
		struct labels of_blocks = *labels;
		struct values blocks;

		of_blocks.kind = buffer;
		blocks = write_samples(p, &of_blocks, &row->torch.stacks, true);
		rest = cached_values(&sum, &blocks);
		labels->kind = text_index(p, "cached");
		write_other(p, labels, PPROF_CACHED, &rest);
	}
	rest = (struct values){ { [SAMPLE_INUSE_SPACE] = row->stacks.unexplained > 0 ? row->stacks.unexplained : 0 } };
	labels->kind = text_index(p, "reserve");
	write_other(p, labels, PPROF_ROUNDING, &rest);
}

static void profile_process(struct profile *p, const struct view_proc *proc)
{
	struct labels labels = { .comm = text_index(p, proc->comm) };
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu32, proc->tgid);
	labels.pid = text_index(p, text);
	for (size_t i = 0; i < proc->row_count; i++) {
		const struct view_row *row = &proc->rows[i];

		labels.gpu = row->gpu == VIEW_GPU_UNKNOWN ? 0 : text_index(p, text_gpu(p->view, row->gpu).s);
		snprintf(text, sizeof(text), "cuda:%" PRIu32, row->ordinal);
		labels.device = row->ordinal == VIEW_ORDINAL_UNKNOWN ? 0 : text_index(p, text);
		write_row(p, &labels, row);
	}
	labels.gpu = labels.device = 0;
	labels.kind = text_index(p, "host");
	write_samples(p, &labels, &proc->host_stacks, true);
}

/* ---- the profile ---- */

static void write_sample_types(struct profile *p)
{
	static const struct { const char *type, *unit; } types[] = {
#define X(name, type, unit, member) [SAMPLE_##name] = { type, unit },
		SAMPLE_TYPES(X)
#undef X
	};

	for (size_t i = 0; i < COUNT(types); i++) {
		proto_number(&p->message, VALUE_TYPE_TYPE, text_index(p, types[i].type));
		proto_number(&p->message, VALUE_TYPE_UNIT, text_index(p, types[i].unit));
		proto_message(p->out, PROFILE_SAMPLE_TYPE, &p->message);
	}
	proto_number(p->out, PROFILE_DEFAULT_SAMPLE_TYPE, text_index(p, types[SAMPLE_INUSE_SPACE].type));
}

static void write_comment(struct profile *p, const char *text)
{
	uint64_t index = text_index(p, text);

	proto_number(p->out, PROFILE_COMMENT, index);
}

static void write_facts(struct profile *p, const struct sink_opts *opts)
{
	const struct view *view = p->view;
	uint64_t duration_ns = view->now_ns - view->start_ns;

	if (view->wall_start_ns)
		proto_number(p->out, PROFILE_TIME_NANOS, view->wall_start_ns + duration_ns);
	proto_number(p->out, PROFILE_DURATION_NANOS, duration_ns);
	write_comment(p, "gpumemtrace " GMT_VERSION);
	for (size_t i = 0; i < opts->note_count; i++)
		write_comment(p, opts->notes[i]);
	if (view_lost(view)) {
		char text[64];

		snprintf(text, sizeof(text), "%" PRIu64 " %s lost", view_lost(view),
			 human_plural(view_lost(view), "record was", "records were"));
		write_comment(p, text);
	}
}

static void write_pprof(struct out *out, const struct view *view, const struct sink_opts *opts)
{
	struct profile p = { .view = view };
	struct gzip gzip;

	gzip_begin(&gzip, out);
	p.out = &gzip.in;
	out_init_mem(&p.message);
	out_init_mem(&p.part);
	pprof_names_init(&p.names, p.out, view);
	write_sample_types(&p);
	write_facts(&p, opts);
	pprof_write_symbols(&p.names);
	for (size_t i = 0; i < view->proc_count; i++)
		profile_process(&p, &view->procs[i]);
	free(p.locations);
	out_close(&p.message);
	out_close(&p.part);
	pprof_names_fini(&p.names);
	gzip_end(&gzip);
}

static bool has_any(const struct view_stacks *stacks)
{
	size_t rows = 0;

	for (int order = 0; order < VIEW_ORDER_COUNT; order++)
		rows += stacks->top[order].count;
	return rows;
}

static const char *why_profile_is_empty(const struct view *view, const struct sink_opts *opts)
{
	(void)opts;
	for (size_t p = 0; p < view->proc_count; p++) {
		const struct view_proc *proc = &view->procs[p];

		if (has_any(&proc->host_stacks))
			return NULL;
		for (size_t r = 0; r < proc->row_count; r++)
			if (has_any(&proc->rows[r].stacks) || has_any(&proc->rows[r].torch.stacks) ||
			    proc->rows[r].stacks.unexplained > 0)
				return NULL;
	}
	return view->proc_count ? "no traced process has allocated memory" : "no process was traced that uses CUDA";
}

static void ask_all(struct view_request *request, const struct sink_opts *opts)
{
	(void)opts;
	request->top = SIZE_MAX;
	request->ages = true;
}

const struct sink sink_pprof = {
	.name = "pprof",
	.suffix = ".pb.gz",
	.other_suffix = ".pprof",
	.help = "write a profile for go tool pprof; - is stdout",
	.manual = "At the end, write all stack traces as a profile (suffix `.pb.gz` or `.pprof`), which `go tool"
		  " pprof` reads; see `PROFILES FOR PPROF`. gpumemtrace writes the whole file or no file. `-` is"
		  " standard output; the report then goes to standard error.",
	.ask = ask_all,
	.why_empty = why_profile_is_empty,
	.write = write_pprof,
};
