/* SPDX-License-Identifier: BSD-2-Clause */
/* What all HTML pages share: the frame of the page, and a text for people in it. */
#ifndef GPUMEMTRACE_SINK_HTML_HTML_PAGE_H
#define GPUMEMTRACE_SINK_HTML_HTML_PAGE_H

#include <stdbool.h>

struct out;

#define HTML_COLUMNS 100             /* of the text for people */

/* The script of a page, without what all pages share. */
struct html_script {
	const char *begin, *end;
};

void html_page_begin(struct out *out);
/* The text that the writer has, which is taken, below a title. */
void html_page_text(struct out *out, const char *title, struct out *text, bool redact);
void html_page_data_begin(struct out *out);
void html_page_data_end(struct out *out);
/* After the data. */
void html_page_end(struct out *out, const struct html_script *script);

#endif
