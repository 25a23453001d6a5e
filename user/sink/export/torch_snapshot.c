// SPDX-License-Identifier: BSD-2-Clause
/*
 * Pickles a snapshot (core/snapshot/snapshot.h) in the form of torch.cuda.memory._snapshot(), which PyTorch's
 * memory_viz and torch.cuda._memory_viz open.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/out.h"
#include "core/terms/names.h"
#include "core/terms/frames.h"
#include "core/snapshot/snapshot.h"
#include "sink/sink.h"
#include "sink/export/pickle.h"

/* PyTorch takes segments of this size for requests of up to 1 MiB. */
#define SMALL_SEGMENT (2ULL << 20)

struct writer {
	struct pickle p;
	const struct frames *frames;
	const struct snapshot *snapshot;
	int64_t wall_ns;
	bool has_categories;
	const struct snapshot_event *unknown; /* shown without its category; NULL: no such event is needed */
	struct hash stacks;      /* uint32_t: number of the kept list; by stack, why and who waited */
	struct hash symbols;     /* uint32_t: number of the kept dictionary */
};

static void int_member(struct writer *w, const char *name, uint64_t value)
{
	pickle_word(&w->p, name);
	pickle_int(&w->p, (int64_t)value);
}

static void word_member(struct writer *w, const char *name, const char *value)
{
	pickle_word(&w->p, name);
	pickle_word(&w->p, value);
}

static void bool_member(struct writer *w, const char *name, bool value)
{
	pickle_word(&w->p, name);
	pickle_bool(&w->p, value);
}

/* ---- frames ---- */

static const char *const why_texts[] = {
#define X(name, text) [SNAPSHOT_WHY_##name] = text,
	SNAPSHOT_WHYS(X)
#undef X
};

static void write_symbol(struct writer *w, uint32_t index)
{
	const struct frames_symbol *s = &w->frames->symbols[index];
	bool is_new;
	uint32_t *number = hash_put(&w->symbols, index, &is_new);
	char offset[24];

	if (!is_new) {
		pickle_again(&w->p, *number);
		return;
	}
	pickle_dict_begin(&w->p);
	pickle_word(&w->p, "name");
	snprintf(offset, sizeof(offset), "0x%" PRIx64, s->offset);
	pickle_text(&w->p, s->function[0] ? s->function : offset);
	pickle_word(&w->p, "filename");
	pickle_text(&w->p, s->file[0] ? s->file : s->module);
	int_member(w, "line", s->line);
	pickle_dict_end(&w->p);
	*number = pickle_keep(&w->p);
}

static void write_remark(struct writer *w, enum snapshot_why why)
{
	pickle_dict_begin(&w->p);
	word_member(w, "name", why_texts[why]);
	word_member(w, "filename", "");
	int_member(w, "line", 0);
	pickle_dict_end(&w->p);
}

static void write_symbols(struct writer *w, struct pickle_list *items, uint32_t stack)
{
	uint32_t count;
	const uint32_t *list = frames_list(w->frames, stack, &count);

	for (uint32_t i = 0; i < count; i++) {
		pickle_list_next(&w->p, items);
		write_symbol(w, list[i]);
	}
}

static void write_why(struct writer *w, struct pickle_list *items, enum snapshot_why why)
{
	pickle_list_next(&w->p, items);
	write_remark(w, why);
}

/* Stacks that are written alike have one key. */
_Static_assert(FRAMES_STACKS_MAX + FRAMES_FIRST < 1U << 24, "a stack takes 24 bits of a key");

static uint64_t stack_key(uint32_t stack, uint32_t waited, enum snapshot_why why)
{
	return (uint64_t)why << 48 | (uint64_t)waited << 24 | stack;
}

/* Writes the frames, the innermost first. The frames of a thread of autograd are followed by those of the line that
 * waited for the thread. */
static void write_stack(struct writer *w, uint32_t stack_id, enum snapshot_why why)
{
	uint32_t stack = frames_of(w->frames, stack_id);
	uint32_t waited = frames_of(w->frames, snapshot_waited(w->snapshot, stack_id));
	uint32_t *number;
	struct pickle_list items;
	bool is_new;

	pickle_word(&w->p, "frames");
	number = hash_put(&w->stacks, stack_key(stack, waited, why), &is_new);
	if (!is_new) {
		pickle_again(&w->p, *number);
		return;
	}
	pickle_list_begin(&w->p, &items);
	*number = pickle_keep(&w->p);
	if (why != SNAPSHOT_WHY_NONE)
		write_why(w, &items, why);
	if (stack == FRAMES_NOT_NAMED)
		write_why(w, &items, SNAPSHOT_WHY_NOT_NAMED);
	write_symbols(w, &items, stack);
	if (waited >= FRAMES_FIRST) {
		write_why(w, &items, SNAPSHOT_WHY_WORKED_FOR);
		write_symbols(w, &items, waited);
	}
	pickle_list_end(&w->p, &items);
}

/* ---- segments ---- */

static void write_torch_block(struct writer *w, const struct snapshot_block *b)
{
	pickle_dict_begin(&w->p);
	int_member(w, "address", b->address);
	int_member(w, "size", b->size);
	int_member(w, "requested_size", b->asked);
	word_member(w, "state", b->active ? "active_allocated" : "inactive");
	write_stack(w, b->stack_id, b->why);
	pickle_dict_end(&w->p);
}

static void write_segment(struct writer *w, const struct snapshot *s, const struct snapshot_segment *g)
{
	struct pickle_list blocks;

	pickle_dict_begin(&w->p);
	int_member(w, "device", g->device);
	int_member(w, "address", g->address);
	int_member(w, "total_size", g->size);
	int_member(w, "allocated_size", g->active);
	int_member(w, "active_size", g->active);
	int_member(w, "requested_size", g->asked);
	int_member(w, "stream", 0);
	word_member(w, "segment_type", g->size <= SMALL_SEGMENT ? "small" : "large");
	pickle_word(&w->p, "segment_pool_id");
	pickle_int(&w->p, 0);
	pickle_int(&w->p, 0);
	pickle_pair(&w->p);
	bool_member(w, "is_expandable", g->is_expandable);
	write_stack(w, g->stack_id, g->why);
	pickle_word(&w->p, "blocks");
	pickle_list_begin(&w->p, &blocks);
	for (size_t i = 0; i < g->block_count; i++) {
		pickle_list_next(&w->p, &blocks);
		write_torch_block(w, &s->blocks[g->first_block + i]);
	}
	pickle_list_end(&w->p, &blocks);
	pickle_dict_end(&w->p);
}

static void write_segments(struct writer *w, const struct snapshot *s)
{
	struct pickle_list list;

	pickle_word(&w->p, "segments");
	pickle_list_begin(&w->p, &list);
	for (size_t i = 0; i < s->segment_count; i++) {
		pickle_list_next(&w->p, &list);
		write_segment(w, s, &s->segments[i]);
	}
	pickle_list_end(&w->p, &list);
}

/* ---- events ---- */

static const char *const actions[] = {
#define X(name, text) [SNAPSHOT_##name] = text,
	SNAPSHOT_ACTIONS(X)
#undef X
};

/* The viewers colour events by category and need an "unknown" event, which is of other memory than PyTorch's blocks.
 * If there is no such event, the oldest event is shown as unknown. */
static enum gmt_category category_of_event(const struct writer *w, const struct snapshot_event *e)
{
	uint8_t hint = frames_hint(w->frames, e->stack_id);
	unsigned int category = e->category ? e->category - 1u : GMT_CATEGORY_UNKNOWN;

	if (e->category && (hint == GMT_CATEGORY_WORKSPACE || category == GMT_CATEGORY_UNKNOWN) &&
	    hint < GMT_CATEGORY_COUNT)
		category = hint;
	return e == w->unknown ? GMT_CATEGORY_UNKNOWN : (enum gmt_category)category;
}

/* Without a training there are no categories to tell apart, and colours by stack trace say more. */
static void find_categories(struct writer *w, const struct snapshot *s)
{
	unsigned int seen = 0;

	for (size_t i = 0; i < s->event_count; i++)
		seen |= 1u << category_of_event(w, &s->events[i]);
	w->has_categories = seen & ~(1u << GMT_CATEGORY_UNKNOWN | 1u << GMT_CATEGORY_TEMPORARY |
				     1u << GMT_CATEGORY_WORKSPACE);
	if (!(seen & 1u << GMT_CATEGORY_UNKNOWN))
		w->unknown = s->events;
}

static void write_event(struct writer *w, const struct snapshot_event *e)
{
	pickle_dict_begin(&w->p);
	word_member(w, "action", actions[e->action]);
	int_member(w, e->action == SNAPSHOT_OOM ? "device_free" : "addr", e->address);
	int_member(w, "size", e->size);
	int_member(w, "stream", 0);
	int_member(w, "time_us", (e->ts_ns + (uint64_t)w->wall_ns) / 1000);
	if (w->has_categories)
		word_member(w, "category", gmt_category_name(category_of_event(w, e)));
	write_stack(w, e->stack_id, e->why);
	pickle_dict_end(&w->p);
}

static void write_traces(struct writer *w, const struct snapshot *s)
{
	struct pickle_list devices, events;

	pickle_word(&w->p, "device_traces");
	pickle_list_begin(&w->p, &devices);
	for (unsigned int device = 0; device < s->device_count; device++) {
		pickle_list_next(&w->p, &devices);
		pickle_list_begin(&w->p, &events);
		for (size_t i = 0; i < s->event_count; i++) {
			if (s->events[i].device != device)
				continue;
			pickle_list_next(&w->p, &events);
			write_event(w, &s->events[i]);
		}
		pickle_list_end(&w->p, &events);
	}
	pickle_list_end(&w->p, &devices);
}

/* The program's settings are not known, except what its memory shows. */
static void write_settings(struct writer *w, const struct snapshot *s)
{
	pickle_word(&w->p, "allocator_settings");
	pickle_dict_begin(&w->p);
	bool_member(w, "expandable_segments", s->is_expandable);
	word_member(w, "written_by", "gpumemtrace " GMT_VERSION);
	pickle_dict_end(&w->p);
}

/* A range belongs to no device, so each device gets a copy of the range. */
static void write_annotations(struct writer *w, const struct snapshot *s)
{
	struct pickle_list list;

	pickle_word(&w->p, "external_annotations");
	pickle_list_begin(&w->p, &list);
	for (size_t i = 0; i < s->mark_count * s->device_count; i++) {
		const struct snapshot_mark *mark = &s->marks[i / s->device_count];

		pickle_list_next(&w->p, &list);
		pickle_dict_begin(&w->p);
		word_member(w, "name", mark->name);
		word_member(w, "stage", mark->is_end ? "END" : "START");
		int_member(w, "device", i % s->device_count);
		int_member(w, "time_us", (mark->ts_ns + (uint64_t)w->wall_ns) / 1000);
		pickle_dict_end(&w->p);
	}
	pickle_list_end(&w->p, &list);
}

static void write_snapshot(struct out *out, const struct sink_history *history, const struct sink_opts *opts)
{
	const struct snapshot *s = history->snapshot;
	struct writer w = { .frames = history->frames, .snapshot = s, .wall_ns = history->wall_ns };

	(void)opts;
	hash_init(&w.stacks, sizeof(uint32_t));
	hash_init(&w.symbols, sizeof(uint32_t));
	find_categories(&w, s);
	pickle_begin(&w.p, out);
	pickle_dict_begin(&w.p);
	write_segments(&w, s);
	write_traces(&w, s);
	write_settings(&w, s);
	write_annotations(&w, s);
	pickle_dict_end(&w.p);
	pickle_end(&w.p);
	hash_fini(&w.stacks);
	hash_fini(&w.symbols);
}

const struct sink sink_snapshot = {
	.name = "snapshot",
	.suffix = ".pickle",
	.help = "write a snapshot for PyTorch's viewers; - is stdout",
	.manual = "At the end, write the history of device memory as a file for PyTorch's memory viewers (suffix"
		  " `.pickle`); see `SNAPSHOTS`. While tracing, this option implies `--block-stacks` and"
		  " `--requested-sizes`. The snapshot of a recording has stack traces of PyTorch's blocks only if"
		  " the recording was made with `--snapshot` or `--block-stacks`. gpumemtrace writes the whole file"
		  " or no file. `-` is standard output; the report then goes to standard error.",
	.wants = SINK_WANTS_BLOCKS,
	.write_history = write_snapshot,
};
