// SPDX-License-Identifier: BSD-2-Clause
#include "sink/html/html_segments.h"

#include "base/out.h"
#include "core/view/view.h"
#include "sink/html/html_text.h"
#include "sink/html/packed.h"

/* A segment's flags, and a block's. */
#define IS_FRAMEWORKS 1u
#define IS_EXPANDABLE 2u
#define IS_GUESSED 4u
#define HAS_BIRTH 8u
#define HAS_WAITING 16u              /* the stack that waited is another one */
#define HAS_ASKED 32u                /* of a block */

/* What stands before: numbers that are near those are written as the change. */
struct before {
	uint64_t address, born_ns;
};

static unsigned int common_flags(uint64_t born_ns, uint32_t stack, uint32_t waiting)
{
	return (born_ns ? HAS_BIRTH : 0) | (waiting == stack ? 0 : HAS_WAITING);
}

/* The place, the stacks and the birth, after the flags. */
static void pack_common(struct packed *p, struct before *before, uint64_t address, uint64_t bytes, uint64_t born_ns,
			uint32_t stack, uint32_t waiting)
{
	packed_change(p, before->address, address);
	packed_number(p, bytes);
	packed_number(p, stack);
	if (waiting != stack)
		packed_number(p, waiting);
	if (born_ns) {
		packed_change(p, before->born_ns, born_ns);
		before->born_ns = born_ns;
	}
	before->address = address + bytes;
}

static void pack_block(struct packed *p, const struct view_placed_block *b, struct before *before)
{
	packed_number(p, common_flags(b->born_ns, b->stack, b->waiting) | (b->asked ? HAS_ASKED : 0));
	pack_common(p, before, b->address, b->bytes, b->born_ns, b->stack, b->waiting);
	packed_number(p, b->purpose);
	if (b->asked)
		packed_number(p, b->bytes - b->asked);
}

/* A segment, and its blocks: the gaps are what lies between. */
static void pack_segment(struct packed *p, const struct view_instant *instant, const struct view_placed_segment *s,
			 struct before *before)
{
	struct before inside;

	packed_number(p, common_flags(s->born_ns, s->stack, s->waiting) | (s->is_frameworks ? IS_FRAMEWORKS : 0) |
			 (s->is_expandable ? IS_EXPANDABLE : 0) | (s->is_guessed ? IS_GUESSED : 0));
	pack_common(p, before, s->address, s->bytes, s->born_ns, s->stack, s->waiting);
	packed_number(p, s->block_count);
	inside = (struct before){ s->address, before->born_ns };
	for (size_t i = 0; i < s->block_count; i++)
		pack_block(p, &instant->blocks[s->first_block + i], &inside);
}

static json_t *pack_segments(const struct view *view, const struct view_instant *instant)
{
	struct before before = { 0, view->start_ns };
	struct out text;
	struct packed p = { .out = &text };

	out_init_mem(&text);
	for (size_t i = 0; i < instant->segment_count; i++)
		pack_segment(&p, instant, &instant->segments[i], &before);
	packed_end(&p);
	return html_text_of(&text);
}

static json_t *page_instant(const struct view *view, const struct view_instant *instant)
{
	static const char *const names[] = {
#define X(name, text) [INSTANT_##name] = text,
		INSTANT_WHYS(X)
#undef X
	};

	return JS_OBJECT({ "why", js_word(names[instant->why]) },
			 { "ns", js_u64(view_since_start(view, instant->ts_ns)) },
			 { "process", js_u64(instant->proc) },
			 { "row", instant->row == VIEW_INSTANT_NO_ROW ? json_null() : js_u64(instant->row) },
			 { "asked", js_u64(instant->asked) }, { "unseen", js_u64(instant->unseen) },
			 { "left_out", js_u64(instant->segments_left_out) },
			 { "bytes_left_out", js_u64(instant->bytes_left_out) },
			 { "held_left_out", js_u64(instant->held_left_out) },
			 { "blocks_left_out", js_u64(instant->blocks_left_out) },
			 { "segment_count", js_u64(instant->segment_count) },
			 { "segments", pack_segments(view, instant) });
}

void html_put_segments(struct out *out, const struct view *view)
{
	const struct view_instants *all = view->instants;
	json_t *list = js_array();

	for (size_t i = 0; all && i < all->count; i++)
		js_append(list, page_instant(view, &all->list[i]));
	html_put_json(out, "instants", list, false);
	html_put_json(out, "instants_left_out", js_u64(all ? all->left_out : 0), false);
}
