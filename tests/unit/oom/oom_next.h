/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests that could not be met, one after the other: for the tests of what becomes of them. */
#ifndef GPUMEMTRACE_TESTS_OOM_NEXT_H
#define GPUMEMTRACE_TESTS_OOM_NEXT_H

#include "core/oom/oom_requests.h"
#include "records.h"

/* Of ordinal 0, in a context. */
static inline void begin_watching(struct records *r)
{
	CALL(r, cuDevicePrimaryCtxRetain, 0xc0, 0);
	CALL(r, cuCtxSetCurrent, 0xc0);
}

static inline int teardown(void **state)
{
	records_fini(*state);
	return 0;
}

/* The next one, of which just the record is kept; number 0: none. */
static inline struct gmt_oom next(struct records *r)
{
	struct oom *oom = ooms_take(r->ooms);
	struct gmt_oom rec = { 0 };

	if (oom)
		rec = oom->rec;
	oom_free(oom);
	return rec;
}

static inline void none_left(struct records *r)
{
	assert_int_equal(next(r).number, 0);
}

#endif
