/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/terms/gpus.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

void gpus_fini(struct gpus *gpus)
{
	free(gpus->list);
	*gpus = (struct gpus){ 0 };
}

int gpus_find(const struct gpus *gpus, const uint8_t *uuid)
{
	for (int i = 0; i < gpus->count; i++)
		if (memcmp(gpus->list[i].uuid, uuid, GMT_UUID_BYTES) == 0)
			return i;
	return GPU_UNKNOWN;
}

int gpus_number(struct gpus *gpus, const uint8_t *uuid)
{
	static const uint8_t none[GMT_UUID_BYTES];
	int number = gpus_find(gpus, uuid);

	if (number != GPU_UNKNOWN || gpus->count == GPUS_MAX || memcmp(uuid, none, GMT_UUID_BYTES) == 0)
		return number;
	gpus->list = xreallocarray(gpus->list, gpus->count + 1, sizeof(*gpus->list));
	gpus->list[gpus->count] = (struct gpu){ 0 };
	memcpy(gpus->list[gpus->count].uuid, uuid, GMT_UUID_BYTES);
	return gpus->count++;
}

void gpus_list(struct gpus *gpus, const struct gmt_gpu *record)
{
	int number = gpus_number(gpus, record->uuid);

	if (number == GPU_UNKNOWN)
		return;
	gpus->list[number].listed = true;
	gpus->list[number].record = *record;
	gpus->usable = 0;
	gpus->has_mig = false;
	for (int i = 0; i < gpus->count; i++) {
		const struct gpu *gpu = &gpus->list[i];

		gpus->usable += gpu->listed && !(gpu->record.flags & GMT_GPU_MIG_PARENT);
		gpus->has_mig |= gpu->listed && (gpu->record.flags & GMT_GPU_MIG);
	}
}

int gpus_only(const struct gpus *gpus)
{
	if (gpus->usable != 1)
		return GPU_UNKNOWN;
	for (int i = 0; i < gpus->count; i++)
		if (gpus->list[i].listed && !(gpus->list[i].record.flags & GMT_GPU_MIG_PARENT))
			return i;
	return GPU_UNKNOWN;
}
