// SPDX-License-Identifier: BSD-2-Clause
#include "sink/text/neighbour_text.h"

#include <string.h>

#include "base/human.h"
#include "base/out.h"

#define NAME_UNKNOWN "(name unknown)"

void neighbour_text_name(struct out *out, const struct view_neighbour *n)
{
	const char *name = n->comm[0] ? n->comm : NAME_UNKNOWN;

	out_printf(out, "pid %u ", n->tgid);
	human_print(out, GMT_COMM_BYTES, name, strlen(name));
}

void neighbour_text_list(struct out *out, const struct view_gpu *gpu, size_t most)
{
	uint64_t more_bytes = gpu->more_bytes, more = gpu->more_neighbours;
	const char *before = "";

	for (size_t i = 0; i < gpu->neighbour_count; i++) {
		const struct view_neighbour *n = &gpu->neighbours[i];

		if (i >= most) {
			more++;
			more_bytes += n->bytes;
			continue;
		}
		out_text(out, before);
		neighbour_text_name(out, n);
		out_printf(out, " %s", human_bytes(n->bytes).s);
		before = ", ";
	}
	if (more)
		out_printf(out, "%s%s %s %s", before, human_count(more).s,
			   *before ? "more" : human_plural(more, "process", "processes"), human_bytes(more_bytes).s);
}
