// SPDX-License-Identifier: BSD-2-Clause
#include "live/bpf/rodata.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "core/terms/probes.h"

/* Returns the values to read at entry, because memory that the callee reads may change before the return. */
static uint32_t entry_reads(const struct gmt_probe *probe)
{
	uint32_t mask = 0;

	for (unsigned i = 0; i < probe->count; i++) {
		unsigned kind = probe->caps[i] >> 24;

		if (kind == GMT_CAP_IN64 || kind == GMT_CAP_IN32 || kind == GMT_CAP_INHASH ||
		    kind == GMT_CAP_STKHASH)
			mask |= 1u << i;
	}
	return mask;
}

/* Returns where a call passes the requested number of bytes, if the number can be read at entry. */
static uint32_t size_cap(const struct gmt_probe *probe)
{
	int field = gmt_op_field(probe->op, "size");
	unsigned kind = field < 0 || field >= (int)probe->count ? GMT_CAP_NONE : probe->caps[field] >> 24;

	return kind == GMT_CAP_ARG64 || kind == GMT_CAP_ARG32 || kind == GMT_CAP_IN64 ? probe->caps[field] :
	       GMT_CAP_NONE;
}

static uint32_t stack_memos(const struct gmt_config *config)
{
	if (!config->stack_mode)
		return 1;
	return config->block_stacks ? GMT_STACK_MEMOS_BLOCKS : GMT_STACK_MEMOS;
}

uint32_t rodata_walks(const struct gmt_config *config, uint32_t cpus)
{
	uint32_t walks = GMT_STACK_WALKS_PER_CPU * cpus;

	if (!config->stack_mode)
		return 1;
	return walks < GMT_STACK_WALKS_MIN ? GMT_STACK_WALKS_MIN : walks;
}

static int set_rodata(struct bpf_object *object, const struct gmt_config *config)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, ".rodata.gmt");
	struct gmt_rodata *rodata = xcalloc(1, sizeof(*rodata));
	int err = -EINVAL;

	rodata->config = *config;
	for (unsigned api = 0; api < GMT_API_MAX; api++) {
		const struct gmt_probe *probe = &gmt_probes[api];
		struct gmt_spec *spec = &rodata->specs[api];

		spec->flags = probe->flags;
		spec->count = probe->count;
		spec->entry_reads = entry_reads(probe);
		spec->takes_stack = gmt_ops[probe->op].takes_stack;
		spec->size_cap = size_cap(probe);
		memcpy(spec->caps, probe->caps, sizeof(spec->caps));
	}
	if (map)
		err = bpf_map__set_initial_value(map, rodata, sizeof(*rodata));
	free(rodata);
	return err;
}

static int set_sizes(struct bpf_object *object, const struct gmt_config *config, uint64_t ring_bytes)
{
	const struct {
		const char *map;
		uint64_t entries;
	} sizes[] = { { "ring", ring_bytes }, { "stack_memos", config->stack_memos },
		      { "stack_memo_keys", config->stack_memos }, { "stack_walks", config->stack_walks } };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		int err = bpf_map__set_max_entries(bpf_object__find_map_by_name(object, sizes[i].map),
						   sizes[i].entries);

		if (err)
			return err;
	}
	return 0;
}

int rodata_set(struct bpf_object *object, const struct gmt_config *config, uint64_t ring_bytes)
{
	struct gmt_config whole = *config;
	int err;

	whole.wake_bytes = ring_bytes / 4;
	whole.stack_memos = stack_memos(config);
	whole.cpus = (uint32_t)libbpf_num_possible_cpus();
	whole.stack_walks = rodata_walks(config, whole.cpus);
	err = set_rodata(object, &whole);
	return err ? err : set_sizes(object, &whole, ring_bytes);
}
