// SPDX-License-Identifier: BSD-2-Clause
#include "sink/html/html_text.h"

#include "base/out.h"
#include "sink/text/redact.h"

/* The text as it may be shown; the caller closes the result. */
static struct out shown_text(const char *text, size_t size, bool redact)
{
	struct out mem;

	out_init_mem(&mem);
	if (redact)
		redact_paths(&mem, text, size);
	else
		out_bytes(&mem, text, size);
	return mem;
}

void html_put_text(struct out *out, const char *text, size_t size, bool redact)
{
	static const char *const entities[256] = {
		['<'] = "&lt;", ['>'] = "&gt;", ['&'] = "&amp;", ['"'] = "&quot;", ['\''] = "&#39;",
	};
	struct out shown = shown_text(text, size, redact);

	for (size_t i = 0; i < shown.size; i++) {
		const char *entity = entities[(unsigned char)shown.data[i]];

		if (entity)
			out_text(out, entity);
		else
			out_char(out, shown.data[i]);
	}
	out_close(&shown);
}

void html_put_json(struct out *out, const char *key, json_t *value, bool redact)
{
	struct out json, shown;

	out_init_mem(&json);
	js_item(&json, value, true);
	shown = shown_text(json.data, json.size, redact);
	out_close(&json);
	out_printf(out, ",\n\"%s\":", key);
	for (size_t i = 0; i < shown.size; i++) {
		if (shown.data[i] == '<')
			out_text(out, "\\u003c");
		else
			out_char(out, shown.data[i]);
	}
	out_close(&shown);
}

json_t *html_text_of(struct out *mem)
{
	json_t *value = js_text(mem->data ? mem->data : "", mem->size);

	out_close(mem);
	return value;
}
