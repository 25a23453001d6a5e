/* SPDX-License-Identifier: BSD-2-Clause */
/* The only way of a text into the HTML report: no name of a traced program ends a script or makes an element. */
#ifndef GPUMEMTRACE_SINK_HTML_HTML_TEXT_H
#define GPUMEMTRACE_SINK_HTML_HTML_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/js.h"

struct out;

/* redact: without the folders of paths (redact.h). Into the page's own text: '<', '>', '&' and quotes as entities. */
void html_put_text(struct out *out, const char *text, size_t size, bool redact);
/* A member of the page's JSON, with a comma before it: each '<' is \u003c. Takes the value. */
void html_put_json(struct out *out, const char *key, json_t *value, bool redact);
/* What was written to memory, as a JSON string; closes it. */
json_t *html_text_of(struct out *mem);

#endif
