// SPDX-License-Identifier: BSD-2-Clause
#include "sink/text/neighbour_text.h"

#include <string.h>

#include "base/human.h"
#include "base/out.h"

void neighbour_text_name(struct out *out, const struct view_neighbour *n)
{
	out_printf(out, "pid %u (", n->tgid);
	if (n->comm[0])
		human_print(out, GMT_COMM_BYTES, n->comm, strlen(n->comm));
	else
		out_text(out, "name unknown");
	out_char(out, ')');
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
		out_printf(out, ": %s", human_bytes(n->bytes).s);
		before = "; ";
	}
	if (more && *before)
		out_printf(out, "%s%s %s", before, human_count(more).s, human_plural(more, "other", "others"));
	else if (more)
		out_printf(out, "%s %s", human_count(more).s, human_plural(more, "process", "processes"));
	if (more)
		out_printf(out, ": %s%s", human_bytes(more_bytes).s, more > 1 ? " together" : "");
}
