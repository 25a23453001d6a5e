/* SPDX-License-Identifier: BSD-2-Clause */
/* See probes.h. */
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

#define X(name, purpose, fields) _Static_assert(sizeof(fields) <= 81, #name ": COMMAS counts 80 characters");
GMT_OPS(X)
#undef X

const struct gmt_op_info gmt_ops[GMT_OP_COUNT] = {
#define X(name, purpose, fields) [GMT_OP_##name] = { #name, GMT_PURPOSE_##purpose, fields, FIELD_COUNT(fields) },
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

static const bool asks_for_memory[GMT_OP_COUNT] = {
	[GMT_OP_MEM_ALLOC] = true,       [GMT_OP_MEM_ALLOC_PITCH] = true,  [GMT_OP_MEM_ALLOC_MANAGED] = true,
	[GMT_OP_HOST_ALLOC] = true,      [GMT_OP_HOST_REGISTER] = true,    [GMT_OP_ASYNC_ALLOC] = true,
	[GMT_OP_POOL_ALLOC] = true,      [GMT_OP_POOL_IMPORT_PTR] = true,  [GMT_OP_VMM_CREATE] = true,
	[GMT_OP_VMM_IMPORT] = true,      [GMT_OP_MULTICAST_CREATE] = true, [GMT_OP_ARRAY_CREATE] = true,
	[GMT_OP_ARRAY3D_CREATE] = true,  [GMT_OP_MIPMAP_CREATE] = true,    [GMT_OP_IPC_OPEN] = true,
	[GMT_OP_EXT_MAP] = true,         [GMT_OP_GRAPH_ALLOC_NODE] = true, [GMT_OP_GRAPH_NODE] = true,
};

bool gmt_op_asks_for_memory(enum gmt_op op)
{
	return op < GMT_OP_COUNT && asks_for_memory[op];
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
