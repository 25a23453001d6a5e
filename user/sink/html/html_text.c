// SPDX-License-Identifier: BSD-2-Clause
#include "sink/html/html_text.h"

#include "base/out.h"


void html_put_text(struct out *out, const char *text, size_t size)
{
	static const char *const entities[256] = {
		['<'] = "&lt;", ['>'] = "&gt;", ['&'] = "&amp;", ['"'] = "&quot;", ['\''] = "&#39;",
	};

	for (size_t i = 0; i < size; i++) {
		const char *entity = entities[(unsigned char)text[i]];

		if (entity)
			out_text(out, entity);
		else
			out_char(out, text[i]);
	}
}

/* JSON in which no text can end the script. */
void html_put_json(struct out *out, const char *key, json_t *value)
{
	struct out json;

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
