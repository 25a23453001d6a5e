// SPDX-License-Identifier: BSD-2-Clause
#include "core/framework/waiting.h"

bool waiting_add(struct hash *waiting, uint32_t stack_id, uint32_t id)
{
	struct waiting_ids *of = waiting->value_size ? hash_get(waiting, stack_id) : NULL;

	if (!of) {
		if (!id || !stack_id)
			return true;
		if (hash_count(waiting) >= WAITING_STACKS_MAX)
			return false;
		if (!waiting->value_size)
			hash_init(waiting, sizeof(*of));
		of = hash_put(waiting, stack_id, NULL);
	}
	for (uint8_t i = 0; i < of->count; i++)
		if (of->ids[i] == id)
			return true;
	if (!id || of->count == WAITING_IDS_MAX)
		of->is_uncertain = true;
	else
		of->ids[of->count++] = id;
	return true;
}

uint32_t waiting_only(const struct hash *waiting, uint32_t stack_id)
{
	const struct waiting_ids *of = waiting ? hash_get(waiting, stack_id) : NULL;

	return of && of->count == 1 && !of->is_uncertain ? of->ids[0] : 0;
}
