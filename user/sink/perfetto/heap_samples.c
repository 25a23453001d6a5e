// SPDX-License-Identifier: BSD-2-Clause
#include "sink/perfetto/heap_samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/count.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "sink/export/protobuf.h"
#include "sink/text/stack_text.h"

/* trace/interned_data/interned_data.proto */
enum interned_field {
	INTERNED_FUNCTION_NAMES = 5, INTERNED_FRAMES = 6, INTERNED_CALLSTACKS = 7, INTERNED_MAPPING_PATHS = 17,
	INTERNED_SOURCE_PATHS = 18, INTERNED_MAPPINGS = 19,
};
/* trace/profiling/profile_common.proto */
enum string_field { STRING_IID = 1, STRING_STR = 2 };
enum mapping_field { MAPPING_IID = 1, MAPPING_PATH_STRING_IDS = 7 };
enum frame_field {
	FRAME_IID = 1, FRAME_FUNCTION_NAME_ID = 2, FRAME_MAPPING_ID = 3, FRAME_REL_PC = 4, FRAME_SOURCE_PATH_IID = 5,
	FRAME_LINE_NUMBER = 6, FRAME_KIND = 7,
};
enum frame_kind { KIND_NATIVE = 1, KIND_INTERPRETED = 3 };
enum callstack_field { CALLSTACK_IID = 1, CALLSTACK_FRAME_IDS = 2 };
/* trace/profiling/profile_packet.proto */
enum profile_field { PROFILE_PROCESS_DUMPS = 5, PROFILE_CONTINUED = 6, PROFILE_INDEX = 7 };
enum dump_field { DUMP_PID = 1, DUMP_SAMPLES = 2, DUMP_FROM_STARTUP = 3, DUMP_TIMESTAMP = 9, DUMP_HEAP_NAME = 11 };
enum sample_field {
	SAMPLE_CALLSTACK_ID = 1, SAMPLE_SELF_ALLOCATED = 2, SAMPLE_SELF_FREED = 3, SAMPLE_ALLOC_COUNT = 5,
	SAMPLE_FREE_COUNT = 6, SAMPLE_SELF_MAX = 8,
};

#define PACKET_BYTES (64 << 10)   /* a profile goes on in the next packet from this size on */
#define NAME_BYTES 128

/* Frames that stand for what has no stack trace, behind the symbols of the view. */
static const char *const others[] = { [VIEW_STACK_NONE] = "[without a stack]", [VIEW_STACK_NOT_NAMED] = "[not named]" };

struct heap {
	struct trace_writer *w;
	const struct view *view;
	const struct view_proc *proc;
	const struct view_stacks *stacks;
	uint32_t sequence;
	uint64_t packets;        /* profile packets so far */
	bool *is_written;        /* by frame */
	struct hash files;       /* uint64_t: id; by the hash of the file's name, of sources and modules */
	struct out frame, dump, sample; /* scratch */
	char name[NAME_BYTES];   /* of the profile that is being written */
	uint64_t ts_ns;          /* likewise */
};

/* ---- frames ---- */

static void intern_text(struct heap *h, enum interned_field field, uint64_t iid, const char *text)
{
	proto_number(&h->frame, STRING_IID, iid);
	trace_text(h->w, &h->frame, STRING_STR, text);
	proto_message(&h->w->message, field, &h->frame);
}

/* The id of a file among those of its field; new files are written. */
static uint64_t intern_file(struct heap *h, enum interned_field field, const char *name, bool *is_new)
{
	uint64_t *iid = hash_put(&h->files, hash_of_bytes(hash_seed(&h->files), name, strlen(name)) ^ field, is_new);

	if (*is_new) {
		*iid = hash_count(&h->files);
		intern_text(h, field, *iid, h->w->redact ? path_base(name) : name);
	}
	return *iid;
}

/* Where a file lay in memory is not known; frames have their names. A frame needs a mapping, if only a nameless one. */
static uint64_t intern_mapping(struct heap *h, const char *module)
{
	bool is_new;
	uint64_t iid = intern_file(h, INTERNED_MAPPING_PATHS, module, &is_new);

	if (is_new) {
		proto_number(&h->frame, MAPPING_IID, iid);
		proto_number(&h->frame, MAPPING_PATH_STRING_IDS, iid);
		proto_message(&h->w->message, INTERNED_MAPPINGS, &h->frame);
	}
	return iid;
}

static void put_frame(struct heap *h, uint64_t iid, const char *name, const struct view_symbol *s)
{
	uint64_t mapping = intern_mapping(h, s ? s->module : ""), source = 0;
	bool is_new;

	if (s && s->file[0])
		source = intern_file(h, INTERNED_SOURCE_PATHS, s->file, &is_new);
	intern_text(h, INTERNED_FUNCTION_NAMES, iid, name);
	proto_number(&h->frame, FRAME_IID, iid);
	proto_number(&h->frame, FRAME_FUNCTION_NAME_ID, iid);
	proto_number(&h->frame, FRAME_MAPPING_ID, mapping);
	proto_number(&h->frame, FRAME_REL_PC, s ? s->offset : 0);
	if (source)
		proto_number(&h->frame, FRAME_SOURCE_PATH_IID, source);
	if (s && s->line)
		proto_number(&h->frame, FRAME_LINE_NUMBER, s->line);
	if (s)
		proto_number(&h->frame, FRAME_KIND, s->is_python ? KIND_INTERPRETED : KIND_NATIVE);
	proto_message(&h->w->message, INTERNED_FRAMES, &h->frame);
}

/* The id of a frame, which is written when it is used first. `number`: of a symbol, or of another frame. */
static uint64_t intern_frame(struct heap *h, size_t number)
{
	const struct view_symbol *s = number < h->view->symbol_count ? &h->view->symbols[number] : NULL;
	struct out name;
	char *text;

	if (h->is_written[number])
		return number + 1;
	h->is_written[number] = true;
	out_init_mem(&name);
	if (s)
		stack_text_name(&name, s);
	else
		out_text(&name, others[number - h->view->symbol_count]);
	text = out_take(&name);
	put_frame(h, number + 1, text, s);
	free(text);
	return number + 1;
}

/* Writes a stack trace, the outermost frame first. */
static void write_callstack(struct heap *h, uint64_t iid, const struct view_stack *stack)
{
	bool is_named = stack->state == VIEW_STACK_NAMED;
	size_t count = is_named ? stack->frame_count : 1;
	uint64_t *frames = xcalloc(count + 1, sizeof(*frames));
	struct out callstack;

	out_init_mem(&callstack);
	for (size_t i = 0; i < count; i++) {
		size_t frame = is_named ? stack->frames[i] : h->view->symbol_count + stack->state;

		frames[count - 1 - i] = intern_frame(h, frame);
	}
	proto_number(&callstack, CALLSTACK_IID, iid);
	for (size_t i = 0; i < count; i++)
		proto_number(&callstack, CALLSTACK_FRAME_IDS, frames[i]);
	proto_message(&h->w->message, INTERNED_CALLSTACKS, &callstack);
	trace_packet(h->w, h->sequence, PACKET_INTERNED_DATA, 0);
	out_close(&callstack);
	free(frames);
}

/* ---- each stack once ---- */

/* Calls a function for each row; the ids of stack traces count from 1. Returns the number of rows. */
static uint64_t each_row(struct heap *h, void (*act)(struct heap *h, uint64_t iid, const struct view_stack_row *row))
{
	uint64_t iid = 0;

	for (int order = 0; order < VIEW_ORDER_COUNT; order++)
		for (size_t i = 0; i < h->stacks->top[order].count; i++)
			if (view_is_first_in(&h->stacks->top[order].rows[i].held, (enum view_order)order))
				act(h, ++iid, &h->stacks->top[order].rows[i]);
	return iid;
}

static void write_row_stack(struct heap *h, uint64_t iid, const struct view_stack_row *row)
{
	write_callstack(h, iid, &h->view->stacks[row->stack]);
}

/* ---- samples ---- */

static void start_dump(struct heap *h, const char *name, uint64_t ts_ns)
{
	snprintf(h->name, sizeof(h->name), "%s", name);
	h->ts_ns = ts_ns;
	h->dump.size = 0;
}

/* Writes the samples since the newest packet. */
static void put_dump(struct heap *h, bool is_continued)
{
	proto_number(&h->dump, DUMP_PID, h->proc->tgid);
	proto_number(&h->dump, DUMP_FROM_STARTUP, h->proc->from_start);
	proto_number(&h->dump, DUMP_TIMESTAMP, h->ts_ns);
	trace_text(h->w, &h->dump, DUMP_HEAP_NAME, h->name);
	proto_message(&h->w->message, PROFILE_PROCESS_DUMPS, &h->dump);
	proto_number(&h->w->message, PROFILE_CONTINUED, is_continued);
	proto_number(&h->w->message, PROFILE_INDEX, h->packets++);
	trace_packet(h->w, h->sequence, PACKET_PROFILE, h->ts_ns);
}

static void put_sample(struct heap *h)
{
	proto_message(&h->dump, DUMP_SAMPLES, &h->sample);
	if (h->dump.size >= PACKET_BYTES)
		put_dump(h, true);
}

static void put_at_peak(struct heap *h, uint64_t iid, const struct view_stack_row *row)
{
	if (!row->held.at_peak)
		return;
	proto_number(&h->sample, SAMPLE_CALLSTACK_ID, iid);
	proto_number(&h->sample, SAMPLE_SELF_MAX, row->held.at_peak);
	put_sample(h);
}

/* What is live is what was allocated less what was freed, also where the allocation is not known. */
static void put_at_end(struct heap *h, uint64_t iid, const struct view_stack_row *row)
{
	const struct view_held *held = &row->held;
	uint64_t bytes = held->alloc_bytes > held->live ? held->alloc_bytes : held->live;
	uint64_t count = held->allocs > held->live_count ? held->allocs : held->live_count;

	if (!bytes)
		return;
	proto_number(&h->sample, SAMPLE_CALLSTACK_ID, iid);
	proto_number(&h->sample, SAMPLE_SELF_ALLOCATED, bytes);
	proto_number(&h->sample, SAMPLE_SELF_FREED, bytes - held->live);
	proto_number(&h->sample, SAMPLE_ALLOC_COUNT, count);
	proto_number(&h->sample, SAMPLE_FREE_COUNT, count - held->live_count);
	put_sample(h);
}

static void begin_heap(struct heap *h)
{
	h->sequence = trace_new_sequence(h->w);
	h->is_written = xcalloc(h->view->symbol_count + COUNT(others), sizeof(*h->is_written));
	hash_init(&h->files, sizeof(uint64_t));
	out_init_mem(&h->frame);
	out_init_mem(&h->dump);
	out_init_mem(&h->sample);
}

static void end_heap(struct heap *h)
{
	free(h->is_written);
	hash_fini(&h->files);
	out_close(&h->frame);
	out_close(&h->dump);
	out_close(&h->sample);
}

void heap_samples(struct trace_writer *w, const struct view *view, const struct view_proc *proc,
		  const struct view_stacks *stacks, const char *name, uint64_t end_ns)
{
	struct heap h = { .w = w, .view = view, .proc = proc, .stacks = stacks };
	char at_peak[NAME_BYTES];
	uint64_t rows = 0;

	for (int order = 0; order < VIEW_ORDER_COUNT; order++)
		rows += stacks->top[order].count;
	if (!rows)
		return;
	begin_heap(&h);
	each_row(&h, write_row_stack);
	snprintf(at_peak, sizeof(at_peak), "%s at peak", name);
	start_dump(&h, at_peak, stacks->peak_ts_ns);
	each_row(&h, put_at_peak);
	put_dump(&h, false);
	start_dump(&h, name, end_ns);
	each_row(&h, put_at_end);
	put_dump(&h, false);
	end_heap(&h);
}
