/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/js.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/human.h"
#include "base/out.h"
#include "base/xalloc.h"

/* Here, jansson returns NULL only for lack of memory: texts are checked before jansson gets them. */
static json_t *need_value(json_t *value)
{
	if (!value)
		xalloc_failed();
	return value;
}

json_t *js_object(void)
{
	return need_value(json_object());
}

json_t *js_array(void)
{
	return need_value(json_array());
}

void js_set(json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new_nocheck(object, key, need_value(value)))
		need_value(NULL);
}

json_t *js_add(json_t *object, const struct js_member *members)
{
	for (; members->key; members++)
		js_set(object, members->key, members->value);
	return object;
}

json_t *js_u64(uint64_t value)
{
	return need_value(json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value));
}

json_t *js_u64_if(bool is_known, uint64_t value)
{
	return is_known ? js_u64(value) : json_null();
}

json_t *js_text(const char *text, size_t size)
{
	size_t length = strnlen(text, size);
	struct out clean;
	json_t *value;
	char *copy;

	out_init_mem(&clean);
	for (size_t i = 0; i < length;) {
		size_t n = human_utf8(text + i, length - i);

		out_bytes(&clean, n ? text + i : "\xef\xbf\xbd", n ? n : 3);
		i += n ? n : 1;
	}
	copy = out_take(&clean);
	value = need_value(json_string_nocheck(copy));
	free(copy);
	return value;
}

json_t *js_utc(int64_t unix_ns)
{
	time_t seconds = (time_t)(unix_ns / 1000000000);
	char text[64];
	size_t size;
	struct tm tm = { 0 };

	gmtime_r(&seconds, &tm);
	size = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text + size, sizeof(text) - size, ".%06dZ", (int)(unix_ns % 1000000000 / 1000));
	return js_word(text);
}

json_t *js_word(const char *text)
{
	return js_text(text, SIZE_MAX);
}

json_t *js_word_if(bool is_known, const char *text)
{
	return is_known ? js_word(text) : json_null();
}

void js_append(json_t *array, json_t *value)
{
	if (json_array_append_new(array, need_value(value)))
		need_value(NULL);
}

/* Writes DEL and all above DEL that human_is_control(), which JSON permits and a terminal may obey, as \u007F. jansson
 * escapes the other control characters in texts, and never ends a piece inside a character. */
static int write_piece(const char *data, size_t size, void *arg)
{
	size_t written = 0;

	for (size_t i = 0; i < size; i++) {
		uint32_t code;
		size_t n = (unsigned char)data[i] < 0x7f ? 0 : human_is_control(data + i, size - i, &code);

		if (!n)
			continue;
		out_bytes(arg, data + written, i - written);
		out_printf(arg, "\\u%04X", (unsigned int)code);
		i += n - 1;
		written = i + 1;
	}
	out_bytes(arg, data + written, size - written);
	return 0;
}

void js_write(struct out *out, json_t *value, bool indented)
{
	if (json_dump_callback(value, write_piece, out, indented ? JSON_INDENT(2) : JSON_COMPACT))
		need_value(NULL);
	out_char(out, '\n');
	json_decref(value);
}

/* ---- piece by piece ---- */

static void write_compact(struct out *out, json_t *value, size_t flags)
{
	if (json_dump_callback(value, write_piece, out, JSON_COMPACT | flags))
		need_value(NULL);
	json_decref(value);
}

void js_open(struct out *out, json_t *object)
{
	out_char(out, '{');
	write_compact(out, object, JSON_EMBED);
}

void js_list(struct out *out, const char *key)
{
	out_printf(out, ",\"%s\":[", key);
}

void js_item(struct out *out, json_t *value, bool is_first)
{
	if (!is_first)
		out_char(out, ',');
	write_compact(out, value, JSON_ENCODE_ANY);
}

void js_list_end(struct out *out)
{
	out_char(out, ']');
}

void js_close(struct out *out, json_t *object)
{
	out_char(out, ',');
	write_compact(out, object, JSON_EMBED);
	out_text(out, "}\n");
}
