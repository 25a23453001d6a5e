// SPDX-License-Identifier: BSD-2-Clause
#include "sink/html/html_text.h"

#include "base/out.h"
#include "sink/text/redact.h"

void html_put_text(struct out *out, const char *text, size_t size, bool redact)
{
	static const char *const entities[256] = {
		['<'] = "&lt;", ['>'] = "&gt;", ['&'] = "&amp;", ['"'] = "&quot;", ['\''] = "&#39;",
	};
	struct out shown;

	out_init_mem(&shown);
	if (redact)
		redact_lines(&shown, text, size);
	else
		out_bytes(&shown, text, size);
	for (size_t i = 0; i < shown.size; i++) {
		const char *entity = entities[(unsigned char)shown.data[i]];

		if (entity)
			out_text(out, entity);
		else
			out_char(out, shown.data[i]);
	}
	out_close(&shown);
}

/* Each text in the value as it may be shown. */
static void redact_json(json_t *value)
{
	const char *key;
	json_t *item;
	struct out text;
	size_t i;

	if (json_is_string(value)) {
		out_init_mem(&text);
		redact_word(&text, json_string_value(value), json_string_length(value));
		json_string_setn(value, text.data ? text.data : "", text.size);
		out_close(&text);
	}
	json_array_foreach(value, i, item)
		redact_json(item);
	json_object_foreach(value, key, item)
		redact_json(item);
}

void html_put_json(struct out *out, const char *key, json_t *value, bool redact)
{
	struct out json;

	if (redact)
		redact_json(value);
	out_init_mem(&json);
	js_item(&json, value, true);
	out_printf(out, ",\n\"%s\":", key);
	for (size_t i = 0; i < json.size; i++) {
		if (json.data[i] == '<')
			out_text(out, "\\u003c");
		else
			out_char(out, json.data[i]);
	}
	out_close(&json);
}

json_t *html_text_of(struct out *mem)
{
	json_t *value = js_text(mem->data ? mem->data : "", mem->size);

	out_close(mem);
	return value;
}
