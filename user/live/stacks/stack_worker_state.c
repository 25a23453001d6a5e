// SPDX-License-Identifier: BSD-2-Clause
#include "live/stacks/stack_worker_state.h"

#include "live/stacks/space_tables.h"
#include "live/stream.h"

/* How often a process that maps one library after the other is read: more often while it is young. */
#define READ_PERIOD_NS 50000000ULL
#define READ_PERIOD_YOUNG_NS 1000000ULL
#define READ_SHARE 4                    /* a reading of 100 ms is followed by 400 ms without one of this process */
#define EVENTS_KEPT_NS 1000000000ULL    /* how long a record of mapped code is waited for */
#define GONE_NS 10000000000ULL          /* how long a process without an end is kept, as its stacks may come yet */

uint64_t worked_period(const struct worked *worked)
{
	uint64_t period = (worked->read_ns - worked->first_ns) / 8;

	if (worked->took_ns * READ_SHARE > READ_PERIOD_NS)
		return worked->took_ns * READ_SHARE;
	if (period < READ_PERIOD_YOUNG_NS)
		return READ_PERIOD_YOUNG_NS;
	return period < READ_PERIOD_NS ? period : READ_PERIOD_NS;
}

bool worked_awaits_events(const struct worked *worked)
{
	return !space_is_told_all(&worked->space) && stream_now_ns() - worked->read_ns < EVENTS_KEPT_NS;
}

bool worked_is_lost(struct worked *worked)
{
	uint64_t now_ns = stream_now_ns();

	if (worked->has_ended || worked->space.is_gone || !worked->read_ns || now_ns - worked->read_ns < GONE_NS ||
	    now_ns - worked->looked_ns < GONE_NS)
		return false;
	worked->looked_ns = now_ns;
	return space_is_lost(&worked->space);
}

bool worked_is_over(const struct worked *worked)
{
	return worked->space.is_gone && stream_now_ns() - worked->read_ns > GONE_NS;
}
