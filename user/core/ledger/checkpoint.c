/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/ledger/checkpoint.h"

#include <stdlib.h>

#include <gpumemtrace/wire.h>

#include "base/xalloc.h"

/* So many memory objects of a process are remembered; further ones come back as memory of an unknown purpose. */
#define PARKED_MAX 65536

struct checkpoint {
	struct rm_freed *list;
	size_t count;
	size_t next;         /* memory comes back in the order in which it went: the search begins here */
	size_t left;         /* of `count`; what came back has 0 bytes */
	bool is_certain;     /* memory is parked that only calls free */
	bool comes_back;
};

void checkpoint_free(struct checkpoint *checkpoint)
{
	if (!checkpoint)
		return;
	free(checkpoint->list);
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

void checkpoint_park(struct checkpoint **of, const struct rm_freed *list, size_t count)
{
	struct checkpoint *c = *of;

	if (!count)
		return;
	if (!c)
		c = *of = xcalloc(1, sizeof(*c));
	for (size_t i = 0; i < count && c->count < PARKED_MAX; i++) {
		c->list = xgrow(c->list, c->count, sizeof(*c->list));
		c->list[c->count++] = list[i];
		c->left++;
		c->is_certain |= is_freed_by_calls_alone(list[i].purpose);
	}
}

/* The first one from the cursor on with this size; `count` if there is none. */
static size_t find_parked(const struct checkpoint *c, uint64_t bytes)
{
	for (size_t i = 0; i < c->count; i++) {
		size_t at = (c->next + i) % c->count;

		if (c->list[at].bytes == bytes)
			return at;
	}
	return c->count;
}

bool checkpoint_unpark(struct checkpoint **of, const struct gmt_rm_alloc *rec, struct rm_freed *was)
{
	struct checkpoint *c = *of;

	if (!c || !c->is_certain || rec->cause.api || rec->status || !rec->size)
		return false;
	size_t at = find_parked(c, rec->size);

	if (at == c->count)
		return false;
	*was = c->list[at];
	c->list[at].bytes = 0;
	c->next = at + 1;
	c->comes_back = true;
	if (!--c->left)
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
		if (of->list[i].gpu != gpu)
			continue;
		out->by_purpose[of->list[i].purpose] += of->list[i].bytes;
		out->total += of->list[i].bytes;
	}
}
