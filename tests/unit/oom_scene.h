/* SPDX-License-Identifier: BSD-2-Clause */
/* A request that could not be met, with all that can be said about one: for the tests of its outputs. */
#ifndef GPUMEMTRACE_TESTS_OOM_SCENE_H
#define GPUMEMTRACE_TESTS_OOM_SCENE_H

#include <signal.h>
#include <string.h>

#include "core/terms/frames.h"
#include "core/oom/oom_requests.h"
#include "core/view/oom_view.h"
#include "records.h"

#define SCENE_AT 0x7f0000000000ull
#define SCENE_S 1000000000ull

/* Owners by the innermost frame, lines by the outermost. */
static inline struct view_verdict scene_decide(void *arg, const struct frames *frames, uint32_t stack)
{
	uint32_t count;
	const uint32_t *list = frames_list(frames, stack, &count);

	(void)arg;
	return (struct view_verdict){ .owner = count && frames->symbols[list[0]].function[0] == 'n', .frame = 0,
				      .line = count ? count - 1 : VIEW_NO_FRAME };
}

static inline struct view_owner_names scene_owner(void *arg, uint32_t owner)
{
	(void)arg;
	return (struct view_owner_names){ .name = owner ? "NCCL" : "PyTorch" };
}

static inline void scene_names(struct records *r)
{
	records_symbol(r, 1, "c10::cuda::malloc", "/venv/libc10_cuda.so", "", 0);
	records_symbol(r, 2, "forward", "", "/home/me/train.py", 212);
	records_symbol(r, 3, "cache", "", "/home/me/train.py", 77);
	records_symbol(r, 4, "ncclCommInitRank", "/venv/libnccl.so", "", 0);
	FRAMES(r, 1, 1, 2);
	FRAMES(r, 2, 4);
	FRAMES(r, 3, 1, 3);
}

static inline void scene_range(struct records *r, uint64_t object, enum gmt_range_what what, const char *name)
{
	struct gmt_fw_range rec = { .object = object, .what = what };

	if (name)
		memcpy(rec.name, name, strlen(name));
	records_apply(r, &rec, GMT_KIND_FW_RANGE, sizeof(rec));
}

/* Process 100 has PyTorch's segments of 75 GiB with gaps, a stack that grows in the second iteration of a
 * training, and pinned memory; another holds 3 GiB; then 2 GiB are asked for, twice in vain, and the process dies of it. */
static inline void scene_fill(struct records *r)
{
	uint64_t at = SCENE_AT, allocated = 0, reserved = 0;

	records_scene(r, API_LAYER);
	records_proc(r, 1, "python");
	records_device(r, 0, 1);
	CALL(r, cuDevicePrimaryCtxRetain, 0xc0, 0);
	CALL(r, cuCtxSetCurrent, 0xc0);
	scene_names(r);
	r->stack_id = 1;
	for (int i = 0; i < 50; i++, at += GiB) {        /* of each GiB a fifth is a gap */
		CALL(r, cuMemAlloc_v2, at, GiB);
		reserved += GiB;
		records_block(r, at, 800 * MiB, allocated += 800 * MiB, reserved);
	}
	scene_range(r, 0, GMT_RANGE_BACKWARD, NULL);
	scene_range(r, 1, GMT_RANGE_BEGIN, "Optimizer.step#SGD.step");
	scene_range(r, 1, GMT_RANGE_END, NULL);
	r->stack_id = 3;
	for (int i = 0; i < 100; i++, at += GiB / 4, r->ts_ns += SCENE_S) {
		CALL(r, cuMemAlloc_v2, at, GiB / 4);
		reserved += GiB / 4;
		records_block(r, at, GiB / 4, allocated += GiB / 4, reserved);
	}
	r->stack_id = 2;
	CALL(r, cuMemAlloc_v2, SCENE_AT - 4 * GiB, GiB);
	CALL(r, cuMemHostAlloc, SCENE_AT - 64 * GiB, 6 * GiB, 0);
	r->tgid = r->tid = 200;
	r->stack_id = 0;
	records_proc(r, 2, "inference");
	records_device(r, 0, 1);
	CALL(r, cuDevicePrimaryCtxRetain, 0xc0, 0);
	CALL(r, cuCtxSetCurrent, 0xc0);
	CALL(r, cuMemAlloc_v2, SCENE_AT, 3 * GiB);
	r->tgid = r->tid = 100;
	r->stack_id = 1;
	FAIL(r, cuMemAlloc_v2, GMT_CUDA_OUT_OF_MEMORY, 0, 2 * GiB);
	FAIL(r, cuMemAlloc_v2, GMT_CUDA_OUT_OF_MEMORY, 0, 2 * GiB);
	CALL(r, cuMemGetInfo_v2, 512 * MiB, 80 * GiB);
	r->ts_ns += SCENE_S;
	records_exit(r, SIGKILL);
}

static inline void scene_view(struct records *r, struct oom_view *view)
{
	struct view_request request = {
		.decide = scene_decide, .owner_names = scene_owner, .owner_count = 2, .top = 10,
	};
	struct oom *oom = ooms_take(r->ooms);

	oom_view_build(r->pipeline, oom, &request, view);
	view->changes = (struct history_changes){
		.since_ns = oom->rec.hdr.ts_ns - 8 * SCENE_S, .until_ns = oom->rec.hdr.ts_ns,
		.blocks = { 1204, 3 * GiB, 1100, 2 * GiB }, .segments = { 9, GiB, 0, 0 },
	};
	oom_free(oom);
}

#endif
