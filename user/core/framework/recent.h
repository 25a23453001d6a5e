/* SPDX-License-Identifier: BSD-2-Clause */
/* The greatest value of the newest time, by the time of records alone: a replay finds what the live session found.
 * The values are bytes; times are of CLOCK_MONOTONIC in ns. A struct owns nothing: all zeros is one without a value. */
#ifndef GPUMEMTRACE_CORE_FRAMEWORK_RECENT_H
#define GPUMEMTRACE_CORE_FRAMEWORK_RECENT_H

#include <stdbool.h>
#include <stdint.h>

/* Time is cut into slots of TORCH_RECENT_NS. Each has the greatest value that held in some part of the slot, so the
 * newest slot and the slot before cover at least TORCH_RECENT_NS, and less than twice as much. */
struct recent {
	bool has_value;
	uint64_t first_ns;       /* of the first value */
	uint64_t slot;           /* the number of the newest slot, from time 0 on */
	uint64_t live;           /* the newest value, which holds until another comes */
	uint64_t peak, before;   /* of the newest slot, and of the slot before */
};

/* Takes in a value that holds from ts_ns on. A time before the newest slot counts as the newest slot's. */
void recent_set(struct recent *r, uint64_t bytes, uint64_t ts_ns);
/* The greatest value that held in the newest time until now_ns; 0 without a value. */
uint64_t recent_peak(const struct recent *r, uint64_t now_ns);
/* Whether the values are known for TORCH_RECENT_NS until now_ns. */
bool recent_is_known(const struct recent *r, uint64_t now_ns);

#endif
