/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/framework/recent.h"

#include "core/framework/view_torch.h"

/* In each slot that has begun since then, the newest value held. */
static void move_on(struct recent *r, uint64_t ts_ns)
{
	uint64_t slot = ts_ns / TORCH_RECENT_NS;

	if (slot <= r->slot)
		return;
	r->before = slot == r->slot + 1 ? r->peak : r->live;
	r->peak = r->live;
	r->slot = slot;
}

void recent_set(struct recent *r, uint64_t bytes, uint64_t ts_ns)
{
	if (!r->has_value)
		*r = (struct recent){ .has_value = true, .first_ns = ts_ns, .slot = ts_ns / TORCH_RECENT_NS };
	move_on(r, ts_ns);
	r->live = bytes;
	if (bytes > r->peak)
		r->peak = bytes;
}

uint64_t recent_peak(const struct recent *r, uint64_t now_ns)
{
	struct recent at_now = *r;

	move_on(&at_now, now_ns);
	return at_now.peak > at_now.before ? at_now.peak : at_now.before;
}

bool recent_is_known(const struct recent *r, uint64_t now_ns)
{
	return r->has_value && now_ns >= r->first_ns && now_ns - r->first_ns >= TORCH_RECENT_NS;
}
