/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What jansson lacks: functions that abort when memory runs out, texts that need not be UTF-8, and writing to a struct
 * out. The prefix is js_, because jansson has json_.
 */
#ifndef GPUMEMTRACE_BASE_JS_H
#define GPUMEMTRACE_BASE_JS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

struct out;

json_t *js_object(void);
json_t *js_array(void);

/* Exact up to 2^63 - 1, where jansson's integers end. A larger value means a broken recording, and is capped. */
json_t *js_u64(uint64_t value);
json_t *js_u64_if(bool is_known, uint64_t value); /* else null */
/* Text of at most `size` bytes, or up to its end; bytes that are not UTF-8 become U+FFFD. */
json_t *js_text(const char *text, size_t size);
json_t *js_word(const char *text);
json_t *js_word_if(bool is_known, const char *text); /* else null */
/* "2026-11-24T16:37:00.123456Z": nanoseconds since 1970 as a time of day (ISO 8601, UTC). */
json_t *js_utc(int64_t unix_ns);
#define JS_TEXT(array) js_text((const char *)(array), sizeof(array))

/* Each function takes `value` over. */
void js_set(json_t *object, const char *key, json_t *value);
void js_append(json_t *array, json_t *value);

/* Adds members to an object, in this order, takes their values over, and returns the object:
 * JS_OBJECT({ "count", js_u64(3) }, { "name", js_word("a") }). */
struct js_member {
	const char *key;   /* NULL: the end */
	json_t *value;
};
json_t *js_add(json_t *object, const struct js_member *members);
#define JS_ADD(object, ...) js_add(object, (const struct js_member[]){ __VA_ARGS__, { 0 } })
#define JS_OBJECT(...) JS_ADD(js_object(), __VA_ARGS__)

/* Writes one line (or, indented, several) that ends in a newline, and frees the value. */
void js_write(struct out *out, json_t *value, bool indented);

/*
 * A line with a long list is written piece by piece, since a tree of the whole list needs many times the memory of what
 * the tree is made from: js_open(), then js_list(), js_item() for each item, js_list_end(), and js_close(). Each
 * function writes its value and frees it. js_open() and js_close() write members: at least one each.
 */
void js_open(struct out *out, json_t *object);
void js_list(struct out *out, const char *key);
void js_item(struct out *out, json_t *value, bool is_first);
void js_list_end(struct out *out);
void js_close(struct out *out, json_t *object);

#endif
