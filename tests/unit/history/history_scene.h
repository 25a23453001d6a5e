/* SPDX-License-Identifier: BSD-2-Clause */
/* A process whose memory has a history: for the tests of histories. */
#ifndef GPUMEMTRACE_TESTS_HISTORY_SCENE_H
#define GPUMEMTRACE_TESTS_HISTORY_SCENE_H

#include <string.h>

#include "core/history/history.h"
#include "core/oom/oom_requests.h"
#include "core/snapshot/snapshot.h"
#include "records.h"
#include "viewer.h"

#define BASE 0x7f0000000000ull
#define FAR 0x7f8000000000ull

struct scene {
	struct records r;
	uint64_t allocated, reserved;      /* of device 0, as PyTorch has them */
	struct snapshot s;
};

static inline void block(struct scene *c, uint64_t ptr, int64_t delta)
{
	records_block(&c->r, ptr, delta, c->allocated += delta, c->reserved);
}

static inline void setup(struct scene *c, uint64_t most)
{
	memset(c, 0, sizeof(*c));
	records_scene_history(&c->r, API_LAYER, most);
}

/* Attached when PyTorch had 50 MiB in tensors, of 100 MiB. */
static inline void setup_late(struct scene *c)
{
	memset(c, 0, sizeof(*c));
	records_init_history(&c->r, 100);
	records_session(&c->r, API_LAYER);
	records_gpu(&c->r, 0, 0);
	records_attach(&c->r, false);
	c->allocated = 50 * MiB;
	c->reserved = 100 * MiB;
}

static inline void teardown(struct scene *c)
{
	snapshot_free(&c->s);
	records_fini(&c->r);
}

/* Makes c->s; no viewer chokes on it. */
static inline const struct snapshot *check(struct scene *c)
{
	const char *wrong;

	snapshot_free(&c->s);
	snapshot_build(c->r.history, c->r.history->process_count - 1, &c->s);
	wrong = viewer_problem(&c->s);
	if (wrong)
		fail_msg("%s", wrong);
	return &c->s;
}

/* The actions of all events by their first letters: "Sa" is a segment, then a block. */
static inline const char *story(const struct snapshot *s)
{
	static const char letters[] = {
		[SNAPSHOT_ALLOC] = 'a', [SNAPSHOT_FREE_REQUESTED] = 'r', [SNAPSHOT_FREE_COMPLETED] = 'f',
		[SNAPSHOT_SEGMENT_ALLOC] = 'S', [SNAPSHOT_SEGMENT_FREE] = 'F', [SNAPSHOT_SEGMENT_MAP] = 'M',
		[SNAPSHOT_SEGMENT_UNMAP] = 'U', [SNAPSHOT_OOM] = 'O',
	};
	static char text[4096];

	for (size_t i = 0; i < s->event_count; i++)
		text[i] = letters[s->events[i].action];
	text[s->event_count] = '\0';
	return text;
}

static inline void map(struct scene *c, uint64_t handle, uint64_t address)
{
	CALL(&c->r, cuMemCreate, handle, 2 * MiB, 1, 0, 1);
	CALL(&c->r, cuMemMap, address, 2 * MiB, 0, handle);
	c->reserved += 2 * MiB;
}

/* ---- anything ---- */

static uint32_t seed;   /* of the next */

static inline uint32_t below(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

static inline void one_record(struct scene *c)
{
	uint64_t at = BASE + below(16) * 2 * MiB, inside = at + below(4) * (MiB / 2);
	uint64_t size = (1 + below(4)) * MiB / 2;

	switch (below(8)) {
	case 0:
		CALL(&c->r, cuMemAlloc_v2, at, (1 + below(3)) * 2 * MiB);
		break;
	case 1:
		RELEASE(&c->r, cuMemFree_v2, at);
		break;
	case 2:
		map(c, 1 + below(1000), at);
		break;
	case 3:
		RELEASE(&c->r, cuMemUnmap, at, (1 + below(3)) * 2 * MiB);
		break;
	case 4:
	case 5:
		block(c, inside, (int64_t)size);
		break;
	default:
		if (c->allocated >= size)
			block(c, inside, -(int64_t)size);
		break;
	}
}

#endif
