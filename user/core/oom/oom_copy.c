// SPDX-License-Identifier: BSD-2-Clause
#include "core/oom/oom_copy.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "core/oom/oom_gpus.h"
#include "core/oom/oom_state.h"

static void *copy_list(const void *list, size_t count, size_t size)
{
	void *copy = count ? xcalloc(count, size) : NULL;

	if (copy)
		memcpy(copy, list, count * size);
	return copy;
}

struct oom *oom_copy(const struct oom *oom)
{
	struct oom *copy = xmalloc(sizeof(*copy));

	*copy = *oom;
	copy->rows = copy_list(oom->rows, oom->row_count, sizeof(*oom->rows));
	copy->stacks = copy_list(oom->stacks, oom->stack_count, sizeof(*oom->stacks));
	copy->waiting = copy_list(oom->waiting, oom->waiting_count, sizeof(*oom->waiting));
	copy->gpus = copy_list(oom->gpus, oom->gpu_count, sizeof(*oom->gpus));
	return copy;
}

void oom_take_over(struct oom *oom, const struct oom *from)
{
	struct oom *copy = oom_copy(from);

	copy->rec = oom->rec;
	copy->rec.flags &= (__u8)~GMT_OOM_UNSEEN;
	for (size_t i = 0; i < copy->row_count; i++) {
		copy->rows[i].number = oom->rec.number;
		copy->rows[i].hdr.ts_ns = oom->rec.hdr.ts_ns;
	}
	for (size_t i = 0; i < copy->stack_count; i++) {
		copy->stacks[i].number = oom->rec.number;
		copy->stacks[i].hdr.ts_ns = oom->rec.hdr.ts_ns;
	}
	for (size_t i = 0; i < copy->waiting_count; i++) {
		copy->waiting[i].number = oom->rec.number;
		copy->waiting[i].hdr.ts_ns = oom->rec.hdr.ts_ns;
	}
	oom_forget_picture(oom);
	*oom = *copy;
	free(copy);
}
