/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/terms/neighbours.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

static void take_out(struct neighbours *n, uint32_t pid)
{
	for (size_t i = 0; i < n->count; i++) {
		if (n->list[i].hdr.tgid != pid)
			continue;
		n->count--;
		memmove(&n->list[i], &n->list[i + 1], (n->count - i) * sizeof(n->list[0]));
		return;
	}
}

/* Of equals the one that came first is first. */
static void put_in(struct neighbours *n, const struct gmt_gpu_neighbour *rec)
{
	size_t at = n->count;

	while (at > 0 && n->list[at - 1].used_bytes < rec->used_bytes)
		at--;
	memmove(&n->list[at + 1], &n->list[at], (n->count - at) * sizeof(n->list[0]));
	memcpy(&n->list[at], rec, sizeof(*rec));
	n->list[at].hdr.size = sizeof(*rec);
	n->count++;
}

int neighbours_take(struct neighbours *n, const struct gmt_gpu_neighbour *rec)
{
	if (!rec->hdr.tgid) {
		memcpy(&n->others, rec, sizeof(*rec));
		n->others.hdr.size = sizeof(*rec);
		return 0;
	}
	take_out(n, rec->hdr.tgid);
	if (!rec->used_bytes)
		return 0;
	if (n->count == GMT_NEIGHBOURS_MAX)
		return -EINVAL;
	put_in(n, rec);
	return 0;
}
