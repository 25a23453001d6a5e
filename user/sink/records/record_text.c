// SPDX-License-Identifier: BSD-2-Clause
/* See record_text.h. A record becomes a JSON object first, so that both formats show the same. */
#include "sink/records/record_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <gpumemtrace/api.h>
#include <gpumemtrace/wire.h>

#include "base/human.h"
#include "base/js.h"
#include "base/out.h"
#include "core/terms/names.h"
#include "core/terms/probes.h"
#include "sink/records/record_fields.h"

#define TEXT_COLUMNS 512   /* of one text; longer texts are cut */

/* ---- a record as an object ---- */

static uint64_t number_at(const uint8_t *at, size_t size)
{
	uint64_t number = 0;

	/* Records come from machines of this byte order: the reader refuses others. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	memcpy(&number, at, size);
#else
	memcpy((uint8_t *)&number + sizeof(number) - size, at, size);
#endif
	return number;
}

static int64_t signed_at(const uint8_t *at, size_t size)
{
	unsigned int shift = 64 - 8 * (unsigned int)size;

	return (int64_t)(number_at(at, size) << shift) >> shift;
}

/* "0x7f00": for numbers that nobody reads as a count. */
static json_t *hex_value(uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%#" PRIx64, number);
	return js_text(text, sizeof(text));
}

static json_t *uuid_value(const uint8_t *bytes, size_t size)
{
	char text[2 * GMT_UUID_BYTES + 1] = "";

	for (size_t i = 0; i < size && i < GMT_UUID_BYTES; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	return js_text(text, sizeof(text));
}

/* jansson's integers end at 2^63 - 1: a larger number is not a count. */
static json_t *count_value(uint64_t number)
{
	return number <= INT64_MAX ? json_integer((json_int_t)number) : hex_value(number);
}

static json_t *term_value(const struct record_field *f, uint64_t number)
{
	const char *name = number <= UINT32_MAX ? f->term((unsigned int)number) : NULL;

	/* A number without a name says more than "unknown". */
	return name && strcmp(name, "unknown") ? js_word(name) : count_value(number);
}

/* The elements of an array that are not 0, by name. */
static json_t *array_value(const struct record_field *f, const uint8_t *at, size_t length)
{
	json_t *o = js_object();

	for (size_t i = 0; i < length; i++) {
		const char *name = f->term((unsigned int)i);
		uint64_t number = number_at(at + i * f->size, f->size);
		char place[24];

		snprintf(place, sizeof(place), "%zu", i);
		if (number)
			js_set(o, name && !json_object_get(o, name) ? name : place, count_value(number));
	}
	return o;
}

static json_t *field_value(const struct record_field *f, const uint8_t *at, size_t room)
{
	if (f->count > 1 && f->type == RECORD_UNSIGNED)
		return array_value(f, at, room / f->size < f->count ? room / f->size : f->count);
	switch (f->type) {
	case RECORD_TEXT:
		return js_text((const char *)at, f->count);
	case RECORD_UUID:
		return uuid_value(at, f->count);
	case RECORD_SIGNED:
		return json_integer(signed_at(at, f->size));
	case RECORD_HEX:
		return hex_value(number_at(at, f->size));
	case RECORD_TERM:
		return term_value(f, number_at(at, f->size));
	default:
		return count_value(number_at(at, f->size));
	}
}

/* ---- what follows the fixed part ---- */

/* Sizes among the values of a call are numbers; all other values may be addresses. */
static bool is_size(const char *name)
{
	static const char *const sizes[] = {
		"size", "width", "height", "depth", "pitch", "levels", "free", "total", "offset",
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (!strcmp(name, sizes[i]))
			return true;
	return false;
}

static void set_values(json_t *o, const struct gmt_call *call)
{
	const char *at = "";
	json_t *values = js_object();

	if (gmt_api_symbol(call->api)) {
		const struct gmt_op_info *op = &gmt_ops[gmt_probes[call->api].op];

		js_set(o, "op", js_word(op->name));
		at = op->fields;
	}
	for (size_t i = 0; sizeof(*call) + (i + 1) * sizeof(call->vals[0]) <= call->hdr.size; i++) {
		size_t n = strcspn(at, ",");
		char name[24];

		if (n)
			snprintf(name, sizeof(name), "%.*s", (int)n, at);
		else
			snprintf(name, sizeof(name), "%zu", i);
		at += n + (at[n] == ',');
		js_set(values, name, is_size(name) ? js_u64(call->vals[i]) : hex_value(call->vals[i]));
	}
	js_set(o, "values", values);
}

static void set_names(json_t *o, const struct gmt_symbol *symbol)
{
	const struct { const char *name; uint16_t size; } texts[] = {
		{ "function", symbol->function_len }, { "module", symbol->module_len }, { "file", symbol->file_len },
	};
	size_t at = sizeof(*symbol);

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]) && at + texts[i].size < symbol->hdr.size; i++) {
		js_set(o, texts[i].name, js_text((const char *)symbol + at, texts[i].size));
		at += texts[i].size + 1u;
	}
}

/* At most `count` numbers that follow the fixed part. */
static json_t *tail_value(const struct gmt_hdr *record, size_t fixed, size_t size, size_t count,
			  json_t *value(uint64_t number))
{
	json_t *list = js_array();

	for (size_t i = 0; i < count && fixed + (i + 1) * size <= record->size; i++)
		js_append(list, value(number_at((const uint8_t *)record + fixed + i * size, size)));
	return list;
}

static void set_rest(json_t *o, const struct gmt_hdr *record)
{
	const struct gmt_stack *stack = (const void *)record;
	const struct gmt_stack_frames *frames = (const void *)record;

	switch (record->kind) {
	case GMT_KIND_CALL:
		set_values(o, (const void *)record);
		break;
	case GMT_KIND_STACK:
		js_set(o, "words", tail_value(record, sizeof(*stack), sizeof(stack->words[0]), stack->count,
					      hex_value));
		break;
	case GMT_KIND_SYMBOL:
		set_names(o, (const void *)record);
		break;
	case GMT_KIND_STACK_FRAMES:
		js_set(o, "symbols", tail_value(record, sizeof(*frames), sizeof(frames->symbols[0]), frames->count,
						count_value));
	}
}

/* A record of an older or newer version may be shorter or longer: missing fields are left out. */
static json_t *fields_of(const struct gmt_hdr *record, const struct record_kind *kind)
{
	const uint8_t *bytes = (const void *)record;
	json_t *o = js_object();
	size_t end = sizeof(*record);

	for (size_t i = 0; kind && i < kind->count; i++) {
		const struct record_field *f = &kind->fields[i];
		bool is_list = f->count > 1 && f->type == RECORD_UNSIGNED;
		size_t least = is_list ? 0 : (size_t)f->size * f->count;

		end = f->offset + least > end ? f->offset + least : end;
		if (f->offset + least <= record->size)
			js_set(o, f->name, field_value(f, bytes + f->offset, record->size - f->offset));
	}
	if (kind && end <= record->size)
		set_rest(o, record);
	return o;
}

static void lower_kind_name(const struct gmt_hdr *record, char *text, size_t size)
{
	const char *name = gmt_kind_name(record->kind);
	size_t i = 0;

	if (name)
		for (; name[i] && i < size - 1; i++)
			text[i] = (char)tolower((unsigned char)name[i]);
	text[i] = '\0';
	if (!name)
		snprintf(text, size, "%u", record->kind);
}

/* ---- lines ---- */

static void print_value(struct out *out, const json_t *v);

static void print_members(struct out *out, const json_t *object, const char *separator, char is)
{
	const char *key, *between = "";
	json_t *member;

	json_object_foreach((json_t *)object, key, member) {
		out_printf(out, "%s%s%c", between, key, is);
		print_value(out, member);
		between = separator;
	}
}

/* Texts come from programs. A text that is not one word stands in quotation marks. */
static void print_string(struct out *out, const char *text)
{
	const char *quote = *text && !strpbrk(text, " \"=,") ? "" : "\"";

	out_text(out, quote);
	human_print(out, TEXT_COLUMNS, text, strlen(text));
	out_text(out, quote);
}

static void print_value(struct out *out, const json_t *v)
{
	if (json_is_string(v)) {
		print_string(out, json_string_value(v));
	} else if (json_is_object(v)) {
		out_char(out, '{');
		print_members(out, v, ",", ':');
		out_char(out, '}');
	} else if (json_is_array(v)) {
		out_char(out, '[');
		for (size_t i = 0; i < json_array_size(v); i++) {
			out_text(out, i ? "," : "");
			print_value(out, json_array_get(v, i));
		}
		out_char(out, ']');
	} else {
		out_printf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
	}
}

void record_print(struct out *out, const struct gmt_hdr *record, int64_t offset_ns)
{
	const struct record_kind *kind = record_kind(record->kind);
	uint64_t ns = offset_ns < 0 ? -(uint64_t)offset_ns : (uint64_t)offset_ns;
	json_t *fields = fields_of(record, kind);
	char name[24];

	lower_kind_name(record, name, sizeof(name));
	out_printf(out, "%c%" PRIu64 ".%09" PRIu64 " %s%s", offset_ns < 0 ? '-' : '+', ns / 1000000000, ns % 1000000000,
		   kind ? "" : "kind ", name);
	if (record->tgid)
		out_printf(out, " pid %u", record->tgid);
	if (record->tid)
		out_printf(out, " tid %u", record->tid);
	if (!kind)
		out_printf(out, ", %u bytes", record->size);
	if (json_object_size(fields))
		out_char(out, ' ');
	print_members(out, fields, " ", '=');
	out_char(out, '\n');
	json_decref(fields);
}

void record_print_json(struct out *out, const struct gmt_hdr *record, int64_t offset_ns)
{
	const struct record_kind *kind = record_kind(record->kind);
	char name[24];

	lower_kind_name(record, name, sizeof(name));
	js_write(out, JS_OBJECT({ "offset_ns", json_integer(offset_ns) },
				{ "kind", kind ? js_word(name) : json_integer(record->kind) },
				{ "pid", js_u64(record->tgid) }, { "tid", js_u64(record->tid) },
				{ "cpu", js_u64(record->cpu) }, { "size", js_u64(record->size) },
				{ "fields", fields_of(record, kind) }), false);
}
