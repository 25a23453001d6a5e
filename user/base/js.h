/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What jansson leaves to do: values that are always there (out of memory aborts), texts that need
 * not be UTF-8, and writing to a struct out. The prefix is js_, for jansson owns json_.
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

/* Each sets a member and takes `value` over. */
void js_set(json_t *object, const char *key, json_t *value);
/* Exact up to 2^63 - 1, where jansson's integers end; more is a broken recording and is capped. */
void js_set_u64(json_t *object, const char *key, uint64_t value);
void js_set_i64(json_t *object, const char *key, int64_t value);
void js_set_bool(json_t *object, const char *key, bool value);
void js_set_null(json_t *object, const char *key);
/* Text of at most `size` bytes; bytes that are not UTF-8 become U+FFFD. */
void js_set_text(json_t *object, const char *key, const char *text, size_t size);
void js_append(json_t *array, json_t *value);
json_t *js_text(const char *text, size_t size);

/* Writes one line (or, indented, several) that ends in a newline, and frees the value. */
void js_write(struct out *out, json_t *value, bool indented);

#endif
