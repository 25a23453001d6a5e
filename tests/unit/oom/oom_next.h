/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests that could not be met, one after the other: for the tests of what becomes of them. */
#ifndef GPUMEMTRACE_TESTS_OOM_NEXT_H
#define GPUMEMTRACE_TESTS_OOM_NEXT_H

#include "core/oom/oom_requests.h"
#include "records.h"

#define A 0x7f0000000000ull
#define OOM GMT_CUDA_OUT_OF_MEMORY
#define MS 1000000ull
#define S (1000 * MS)

/* Of ordinal 0, in a context. */
static inline void begin_watching(struct records *r)
{
	CALL(r, cuDevicePrimaryCtxRetain, 0xc0, 0);
	CALL(r, cuCtxSetCurrent, 0xc0);
}

/* Two GPUs, and a process that uses one of them. */
static inline int setup_calls(void **state)
{
	static struct records r;

	records_scene(&r, API_LAYER);
	records_device(&r, 0, 1);
	records_device(&r, 1, 0);
	begin_watching(&r);
	*state = &r;
	return 0;
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

/* Time passes: some record comes. */
static inline void wait(struct records *r, uint64_t ns)
{
	r->ts_ns += ns;
	records_gpu(r, 0, 0);
}

/* PyTorch reports its error. */
static inline void raised(struct records *r, uint64_t size)
{
	struct gmt_fw_oom rec = { .size = size, .device_type = GMT_FW_GPU };

	records_apply(r, &rec, GMT_KIND_FW_OOM, sizeof(rec));
}

#endif
