// SPDX-License-Identifier: BSD-2-Clause
/* Lines of a picture, from the top to its bottom. */
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/out.h"
#include "screen/state.h"
#include "sink/text/finding_text.h"

void line_text(struct picture *p, enum curses_style style, const char *text)
{
	if (p->y < p->bottom)
		curses_put_marked(p->curses, p->y++, 0, p->width, style, text);
}

void line_put(struct picture *p, enum curses_style style, struct out *line)
{
	char *text = out_take(line);

	line_text(p, style, text);
	free(text);
}

unsigned int lines_part(const struct picture *p, unsigned int part, unsigned int least)
{
	unsigned int lines = p->bottom / part;

	return lines < least ? least : lines;
}

void lines_put(struct picture *p, enum curses_style style, char *text, unsigned int most,
	       const char *hint)
{
	unsigned int count = 0, all = (unsigned int)human_lines(text), room = p->y < p->bottom ? p->bottom - p->y : 0;
	char *rest = text, *line;

	most = room < most ? room : most;
	while ((line = strsep(&rest, "\n")) && rest) {
		struct out more;

		if (++count < most || all <= most) {
			line_text(p, *line == ' ' ? STYLE_PLAIN : style, line);
			continue;
		}
		out_init_mem(&more);
		out_printf(&more, "%*sand %u more %s%s", FINDING_TEXT_LABEL, "", all - count + 1,
			   human_plural(all - count + 1, "line", "lines"), hint);
		line_put(p, STYLE_DIM, &more);
		break;
	}
	free(text);
}
