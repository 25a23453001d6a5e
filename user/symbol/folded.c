// SPDX-License-Identifier: BSD-2-Clause
/*
 * See folded.h. flamegraph.pl and speedscope take the last blank of a line as the end of the frames
 * (/^(.*) (\d+(?:\.\d*)?)$/) and split these at ';': blanks in names are fine. flamegraph.pl takes a
 * "_[k]" at the end of a name as a colour; names here do not end so.
 */
#include "symbol/folded.h"

#include <inttypes.h>

#include "base/human.h"

void folded_frame(struct out *line, const char *name)
{
	size_t start = line->size;

	if (line->size)
		out_char(line, ';');
	start = line->size;
	for (const char *at = name ? name : ""; *at;) {
		size_t len = human_utf8(at, 4);

		if (!len || (len == 1 && ((unsigned char)*at < ' ' || *at == 0x7f))) {
			out_char(line, *at == '\n' || *at == '\t' ? ' ' : '?');
			at++;
		} else if (*at == ';') {
			out_char(line, ':');
			at++;
		} else {
			out_bytes(line, at, len);
			at += len;
		}
	}
	if (line->size == start)
		out_text(line, "[unknown]");
}

void folded_end(struct out *out, struct out *line, uint64_t bytes)
{
	if (line->size && bytes) {
		out_bytes(out, line->data, line->size);
		out_printf(out, " %" PRIu64 "\n", bytes);
	}
	line->size = 0;
}

void folded_stack(struct out *out, struct out *line, const char *const *frames, size_t count, uint64_t bytes)
{
	line->size = 0;
	while (count--)
		folded_frame(line, frames[count]);
	folded_end(out, line, bytes);
}
