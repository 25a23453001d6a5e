// SPDX-License-Identifier: BSD-2-Clause
#include "live/stacks/copies.h"

#include "live/stacks/record_list.h"
#include "live/stream.h"

#define KEPT_NS 1000000000ULL      /* how long a copy waits for its stack */

size_t copies_used(const struct gmt_hdr *record)
{
	const struct gmt_stack_copy *copy = (const void *)record;

	return record->kind == GMT_KIND_STACK_COPY ? sizeof(*copy) + copy->count * sizeof(*copy->words) : record->size;
}

void copies_lose(struct copies_room *room, const struct gmt_stack_copy *copy)
{
	uint64_t *counted = &room->counted[copy->stack_id % COPIES_COUNTED], number = (uint64_t)copy->stack_id + 1;

	room->cut += *counted != number;
	*counted = number;
}

bool copies_admit(struct copies_room *room, const struct gmt_stack_copy *copy)
{
	if (room->bytes + copy->hdr.size > COPIES_MOST) {
		copies_lose(room, copy);
		return false;
	}
	room->bytes += copy->hdr.size;
	return true;
}

size_t copies_take(struct records *waiting, uint32_t stack_id,
		   const struct gmt_stack_copy *pieces[GMT_STACK_COPY_PIECES])
{
	struct gmt_stack_copy *copy;
	size_t count = 0, at = 0;

	while (count < GMT_STACK_COPY_PIECES && (copy = records_next(waiting, &at)))
		if (copy->hdr.kind == GMT_KIND_STACK_COPY && copy->stack_id == stack_id && copy->count) {
			copy->stack_id = 0;
			pieces[count++] = copy;
		}
	return count;
}

void copies_keep_early(struct records *to, const struct records *waiting)
{
	const struct gmt_stack_copy *copy;
	uint64_t now_ns = stream_now_ns();
	size_t at = 0;

	while ((copy = records_next(waiting, &at)))
		if (copy->hdr.kind == GMT_KIND_STACK_COPY && copy->stack_id && now_ns - copy->hdr.ts_ns < KEPT_NS)
			records_add(to, copy, copy->hdr.size);
}

size_t copies_bytes(const struct records *records)
{
	const struct gmt_hdr *hdr;
	size_t bytes = 0, at = 0;

	while ((hdr = records_next(records, &at)))
		bytes += hdr->kind == GMT_KIND_STACK_COPY ? hdr->size : 0;
	return bytes;
}
