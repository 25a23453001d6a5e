// SPDX-License-Identifier: BSD-2-Clause
/* See record_text.h. A record becomes a JSON object in both formats, so that they say the same. */
#include "sink/records/record_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <gpumemtrace/wire.h>

#include "base/human.h"
#include "base/js.h"
#include "base/out.h"
#include "core/terms/names.h"
#include "sink/records/record_fields.h"
#include "sink/records/record_rest.h"

#define TEXT_COLUMNS 512   /* of one text; longer ones are cut */

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

static json_t *uuid_value(const uint8_t *bytes, size_t size)
{
	char text[2 * GMT_UUID_BYTES + 1] = "";

	for (size_t i = 0; i < size && i < GMT_UUID_BYTES; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	return js_text(text, sizeof(text));
}

/* jansson's integers end at 2^63 - 1: what is more is no count. */
static json_t *count_value(uint64_t number)
{
	return number <= INT64_MAX ? json_integer((json_int_t)number) : record_hex(number);
}

static json_t *term_value(const struct record_field *f, uint64_t number)
{
	const char *name = number <= UINT32_MAX ? f->term((unsigned int)number) : NULL;

	/* A number without a name says more than "unknown". */
	return name && strcmp(name, "unknown") ? js_text(name, SIZE_MAX) : count_value(number);
}

/* An array by the names of its elements, those that are not 0. */
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
	if (f->type == RECORD_TEXT)
		return js_text((const char *)at, f->count);
	if (f->type == RECORD_UUID)
		return uuid_value(at, f->count);
	if (f->count > 1)
		return array_value(f, at, room / f->size < f->count ? room / f->size : f->count);
	switch (f->type) {
	case RECORD_SIGNED:
		return json_integer(signed_at(at, f->size));
	case RECORD_HEX:
		return record_hex(number_at(at, f->size));
	case RECORD_TERM:
		return term_value(f, number_at(at, f->size));
	default:
		return count_value(number_at(at, f->size));
	}
}

/* A record of an older or newer version may be shorter, or longer. A list has as many elements as there are. */
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
	if (kind && kind->rest && end <= record->size)
		kind->rest(record, o);
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

/* Texts are a program's: clean, and in quotation marks where they are not one word. */
static void print_string(struct out *out, const char *text)
{
	char clean[4 * TEXT_COLUMNS + 4];
	bool is_word = *text && !strpbrk(text, " \"=,");

	human_text(clean, TEXT_COLUMNS, text, strlen(text));
	out_printf(out, is_word ? "%s" : "\"%s\"", clean);
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
	json_t *o = js_object();
	char name[24];

	lower_kind_name(record, name, sizeof(name));
	js_set_i64(o, "offset_ns", offset_ns);
	js_set(o, "kind", kind ? js_text(name, sizeof(name)) : json_integer(record->kind));
	js_set_u64(o, "pid", record->tgid);
	js_set_u64(o, "tid", record->tid);
	js_set_u64(o, "cpu", record->cpu);
	js_set_u64(o, "size", record->size);
	js_set(o, "fields", fields_of(record, kind));
	js_write(out, o, false);
}
