/* SPDX-License-Identifier: BSD-2-Clause */
/* Several takers of lives (core/terms/lives_told.h) as one. */
#ifndef GPUMEMTRACE_CORE_LIVES_LIFE_TAKERS_H
#define GPUMEMTRACE_CORE_LIVES_LIFE_TAKERS_H

#include <stdbool.h>

#include "core/terms/lives_told.h"

#define LIFE_TAKERS_MAX 2

struct life_takers {
	struct life_taker all;   /* hands over to each of the list */
	const struct life_taker *list[LIFE_TAKERS_MAX];
	unsigned int count;
};

/* Returns the taker that is all of them. The structure must stay where it is. Its call and its level, which are work to
 * find out, are NULL where nobody takes them. */
const struct life_taker *life_takers_init(struct life_takers *takers);
void life_takers_add(struct life_takers *takers, const struct life_taker *taker);

/* Memory is short: each that can gives up what it has kept. Returns whether all can. */
bool life_takers_shed(const struct life_takers *takers, uint64_t ts_ns);

#endif
