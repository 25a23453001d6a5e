/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/oom/oom_state.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void oom_forget_picture(struct oom *oom)
{
	free(oom->rows);
	free(oom->stacks);
	free(oom->waiting);
	free(oom->gpus);
	*oom = (struct oom){ .rec = oom->rec };
	oom->rec.flags |= GMT_OOM_UNSEEN;
}

void oom_free(struct oom *oom)
{
	if (!oom)
		return;
	oom_forget_picture(oom);
	free(oom);
}

void ooms_push(struct ooms *o, struct oom *oom)
{
	if (o->queued == OOM_QUEUE) {
		oom_free(ooms_take(o));
		o->dropped++;
	}
	o->queue[o->queued++] = oom;
}

struct oom *ooms_take(struct ooms *o)
{
	struct oom *oom = o->queued ? o->queue[0] : NULL;

	if (oom)
		memmove(o->queue, o->queue + 1, --o->queued * sizeof(o->queue[0]));
	return oom;
}

void ooms_take_newest(struct ooms *o, struct oom **newest)
{
	struct oom *oom;

	while ((oom = ooms_take(o))) {
		bool is_same = *newest && oom->rec.number && oom->rec.number == (*newest)->rec.number;

		if (oom->row_count || !*newest) {
			oom_free(*newest);
			*newest = oom;
			continue;
		}
		if (is_same)
			(*newest)->rec = oom->rec;
		oom_free(oom);
	}
}
