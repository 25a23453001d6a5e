// SPDX-License-Identifier: BSD-2-Clause
/* See record_rest.h. */
#include "sink/records/record_rest.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <gpumemtrace/api.h>
#include <gpumemtrace/wire.h>

#include "base/js.h"
#include "core/terms/probes.h"

json_t *record_hex(uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%#" PRIx64, number);
	return js_text(text, sizeof(text));
}

/* Values by the names that the operation has for them: sizes as numbers, all else may be an address. */
void record_rest_call(const struct gmt_hdr *record, json_t *fields)
{
	static const char *const counts[] = {
		"size", "width", "height", "depth", "pitch", "levels", "free", "total", "offset",
	};
	const struct gmt_call *call = (const void *)record;
	size_t count = (record->size - sizeof(*call)) / sizeof(call->vals[0]);
	const char *symbol = gmt_api_symbol(call->api), *at = "";
	json_t *values = js_object();

	if (symbol) {
		const struct gmt_op_info *op = &gmt_ops[gmt_probes[call->api].op];

		js_set_text(fields, "op", op->name, SIZE_MAX);
		at = op->fields;
	}
	for (size_t i = 0; i < count; i++) {
		size_t n = strcspn(at, ",");
		char name[24];
		bool is_count = false;

		if (n)
			snprintf(name, sizeof(name), "%.*s", (int)n, at);
		else
			snprintf(name, sizeof(name), "%zu", i);
		at += n + (at[n] == ',');
		for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++)
			is_count |= !strcmp(name, counts[k]);
		if (is_count)
			js_set_u64(values, name, call->vals[i]);
		else
			js_set(values, name, record_hex(call->vals[i]));
	}
	js_set(fields, "values", values);
}

void record_rest_stack(const struct gmt_hdr *record, json_t *fields)
{
	const struct gmt_stack *stack = (const void *)record;
	size_t room = (record->size - sizeof(*stack)) / sizeof(stack->words[0]);
	json_t *words = js_array();

	for (size_t i = 0; i < stack->count && i < room; i++)
		js_append(words, record_hex(stack->words[i]));
	js_set(fields, "words", words);
}

void record_rest_symbol(const struct gmt_hdr *record, json_t *fields)
{
	const struct gmt_symbol *symbol = (const void *)record;
	const struct { const char *name; uint16_t size; } texts[] = {
		{ "function", symbol->function_len }, { "module", symbol->module_len }, { "file", symbol->file_len },
	};
	size_t at = 0, room = record->size - sizeof(*symbol);

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]) && at + texts[i].size < room; i++) {
		js_set_text(fields, texts[i].name, (const char *)symbol->text + at, texts[i].size);
		at += texts[i].size + 1u;
	}
}

void record_rest_stack_frames(const struct gmt_hdr *record, json_t *fields)
{
	const struct gmt_stack_frames *frames = (const void *)record;
	size_t room = (record->size - sizeof(*frames)) / sizeof(frames->symbols[0]);
	json_t *symbols = js_array();

	for (size_t i = 0; i < frames->count && i < room; i++)
		js_append(symbols, json_integer(frames->symbols[i]));
	js_set(fields, "symbols", symbols);
}
