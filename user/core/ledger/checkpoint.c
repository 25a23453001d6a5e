/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/ledger/checkpoint.h"

#include <stdlib.h>

#include <gpumemtrace/wire.h>

#include "base/hash.h"
#include "base/xalloc.h"

/* So many memory objects of a process are remembered; further ones are counted, and come back as memory of an
 * unknown purpose. */
#define PARKED_MAX 65536

struct parked {
	struct rm_freed was; /* 0 bytes: it has come back */
	uint32_t next;       /* index + 1 of the next one of the same size; 0: none */
};

/* Of one size: index + 1 of the first one that has not come back, and of the last one. */
struct queue {
	uint32_t first, last;
};

struct checkpoint {
	struct parked *list;
	size_t count;
	struct hash queues;  /* size -> struct queue: memory comes back in the order in which it went */
	bool is_certain;     /* memory is parked that only calls free */
	bool comes_back;
};

void checkpoint_free(struct checkpoint *checkpoint)
{
	if (!checkpoint)
		return;
	free(checkpoint->list);
	hash_fini(&checkpoint->queues);
	free(checkpoint);
}

static void forget_parked(struct checkpoint **of)
{
	checkpoint_free(*of);
	*of = NULL;
}

/* Streams and pools free memory at synchronizations, and modules and graphs at other calls that are not probed. */
static bool is_freed_by_calls_alone(unsigned int purpose)
{
	return purpose == GMT_PURPOSE_ALLOC || purpose == GMT_PURPOSE_VMM;
}

static void park_one(struct checkpoint *c, const struct rm_freed *freed)
{
	struct queue *queue = hash_put(&c->queues, freed->bytes, NULL);

	c->list = xgrow(c->list, c->count, sizeof(*c->list));
	c->list[c->count++] = (struct parked){ .was = *freed };
	if (queue->first)
		c->list[queue->last - 1].next = (uint32_t)c->count;
	else
		queue->first = (uint32_t)c->count;
	queue->last = (uint32_t)c->count;
	c->is_certain |= is_freed_by_calls_alone(freed->purpose);
}

size_t checkpoint_park(struct checkpoint **of, const struct rm_freed *list, size_t count)
{
	struct checkpoint *c = *of;
	size_t kept = 0;

	if (!count)
		return 0;
	if (!c) {
		c = *of = xcalloc(1, sizeof(*c));
		hash_init(&c->queues, sizeof(struct queue));
	}
	for (; kept < count && c->count < PARKED_MAX; kept++)
		park_one(c, &list[kept]);
	return count - kept;
}

bool checkpoint_unpark(struct checkpoint **of, const struct gmt_rm_alloc *rec, struct rm_freed *was)
{
	struct checkpoint *c = *of;
	struct parked *parked;
	struct queue *queue;

	if (!c || !c->is_certain || rec->cause.api || rec->status || !rec->size)
		return false;
	queue = hash_get(&c->queues, rec->size);
	if (!queue)
		return false;
	parked = &c->list[queue->first - 1];
	*was = parked->was;
	parked->was.bytes = 0;
	queue->first = parked->next;
	if (!queue->first)
		hash_erase(&c->queues, rec->size);
	c->comes_back = true;
	if (!hash_count(&c->queues))
		forget_parked(of);
	return true;
}

/* Calls that had returned before the checkpoint may be recorded in it. So what is surely parked stays until something
 * has come back. */
void checkpoint_call_returned(struct checkpoint **of)
{
	if (!(*of)->is_certain || (*of)->comes_back)
		forget_parked(of);
}

void checkpoint_sums(const struct checkpoint *of, int gpu, struct rm_physical *out)
{
	*out = (struct rm_physical){ 0 };
	for (size_t i = 0; of && of->is_certain && i < of->count; i++) {
		const struct rm_freed *was = &of->list[i].was;

		if (was->gpu != gpu)
			continue;
		out->by_purpose[was->purpose] += was->bytes;
		out->total += was->bytes;
	}
}
