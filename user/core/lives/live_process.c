// SPDX-License-Identifier: BSD-2-Clause
#include "core/lives/live_process.h"

#include <stdlib.h>

#include "base/xalloc.h"
#include "core/framework/framework.h"

void live_process_free(struct live_process *lp)
{
	if (!lp)
		return;
	free(lp->rows);
	free(lp->devices);
	free(lp);
}

static struct live_row *live_row_of(struct live_process *lp, unsigned int row)
{
	lp->rows = xreach(lp->rows, &lp->row_count, row, sizeof(*lp->rows));
	return &lp->rows[row];
}

bool live_process_peak(struct live_process *lp, const struct process *p, unsigned int row,
		       const struct life_point *now)
{
	const struct view_level *level = row == ROW_NONE ? NULL : &p->account.rows[row].attributed;
	struct live_row *to = level ? live_row_of(lp, row) : NULL;

	if (!to || (to->peak_bytes == level->peak && to->peak_ns == level->peak_ts_ns))
		return false;
	to->peak_bytes = level->peak;
	to->peak_ns = level->peak_ts_ns;
	to->peak = *now;
	return true;
}

void live_process_give_peaks(const struct live_process *lp, const struct process *p, uint32_t number,
			     const struct life_taker *to)
{
	for (unsigned int i = 0; i < lp->row_count; i++) {
		const struct live_row *row = &lp->rows[i];

		if (row->peak_bytes)
			to->moment(to->arg, &(struct life_moment){
				.why = LIFE_AT_PEAK, .at = row->peak, .process = number, .bytes = row->peak_bytes,
				.gpu = (int16_t)p->account.rows[i].gpu,
			});
	}
}

static void give_level(struct live_row *row, const struct life_level *level, const struct life_taker *to)
{
	if (row->levels[level->of] == level->bytes)
		return;
	row->levels[level->of] = level->bytes;
	to->level(to->arg, level);
}

void live_process_levels(struct live_process *lp, const struct process *p, const struct framework *f,
			 const struct life_point *now, const struct life_taker *to)
{
	for (unsigned int i = 0; i < p->account.count; i++) {
		const struct row *row = &p->account.rows[i];
		struct life_level level = { .at = *now, .process = p->index + 1, .gpu = (int16_t)row->gpu };

		level.of = LIFE_LEVEL_PHYSICAL;
		level.bytes = row->physical.live;
		give_level(live_row_of(lp, i), &level, to);
		level.of = LIFE_LEVEL_RESERVED;
		level.bytes = framework_reserved(f, i);
		give_level(live_row_of(lp, i), &level, to);
	}
}

struct live_device *live_process_device(struct live_process *lp, unsigned int ordinal)
{
	lp->devices = xreach(lp->devices, &lp->device_count, ordinal, sizeof(*lp->devices));
	return &lp->devices[ordinal];
}

void live_process_restart(struct live_process *lp)
{
	for (unsigned int i = 0; i < lp->device_count; i++)
		lp->devices[i].iteration = 0;
}
