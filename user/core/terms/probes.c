/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/terms/probes.h"

#include <string.h>

#define CAP_COUNT(...) (sizeof((const __u32[]){ __VA_ARGS__ }) / sizeof(__u32))

const struct gmt_probe gmt_probes[GMT_API_MAX] = {
#define X(id, symbol, op, flags, ...) \
	[id] = { #symbol, GMT_OP_##op, flags, { __VA_ARGS__ }, CAP_COUNT(__VA_ARGS__) },
	GMT_APIS(X)
#undef X
};

/* Commas in a string of up to 80 characters, at compile time. */
#define COMMA(s, i) ((i) < sizeof(s) && (s)[(i) < sizeof(s) ? (i) : 0] == ',')
#define COMMAS_4(s, i) (COMMA(s, i) + COMMA(s, (i) + 1) + COMMA(s, (i) + 2) + COMMA(s, (i) + 3))
#define COMMAS_16(s, i) (COMMAS_4(s, i) + COMMAS_4(s, (i) + 4) + COMMAS_4(s, (i) + 8) + COMMAS_4(s, (i) + 12))
#define COMMAS(s) \
	(COMMAS_16(s, 0) + COMMAS_16(s, 16) + COMMAS_16(s, 32) + COMMAS_16(s, 48) + COMMAS_16(s, 64))
#define FIELD_COUNT(s) (sizeof(s) == 1 ? 0 : COMMAS(s) + 1)

#define X(name, purpose, takes_stack, fields) \
	_Static_assert(sizeof(fields) <= 81, #name ": COMMAS counts 80 characters");
GMT_OPS(X)
#undef X

const struct gmt_op_info gmt_ops[GMT_OP_COUNT] = {
#define X(name, purpose, takes_stack, fields) \
	[GMT_OP_##name] = { #name, GMT_PURPOSE_##purpose, takes_stack, fields, FIELD_COUNT(fields) },
	GMT_OPS(X)
#undef X
};

const char *gmt_api_symbol(unsigned int api)
{
	return api < GMT_API_MAX ? gmt_probes[api].symbol : NULL;
}

enum gmt_purpose gmt_purpose_of_api(unsigned int api)
{
	return gmt_api_symbol(api) ? gmt_ops[gmt_probes[api].op].purpose : GMT_PURPOSE_OTHER;
}

int gmt_op_field(enum gmt_op op, const char *name)
{
	const char *at = gmt_ops[op].fields;
	size_t len = strlen(name);

	for (int field = 0; *at; field++) {
		size_t width = strcspn(at, ",");

		if (width == len && !strncmp(at, name, len))
			return field;
		at += width + (at[width] == ',');
	}
	return -1;
}
