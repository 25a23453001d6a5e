// SPDX-License-Identifier: BSD-2-Clause
#include "live/probe/removal.h"

#include <pthread.h>

#include "live/probe/uprobe.h"

#define STACK_BYTES (64 << 10) /* a thread needs next to nothing */

struct removal {
	struct uprobe_set *const *sets;
	size_t count;
	size_t next;         /* the first set that no thread has taken */
};

static void *detach_sets(void *arg)
{
	struct removal *removal = arg;
	size_t i;

	while ((i = __atomic_fetch_add(&removal->next, 1, __ATOMIC_RELAXED)) < removal->count)
		while (uprobe_detach_next(removal->sets[i]))
			;
	return NULL;
}

void removal_detach(struct uprobe_set *const *sets, size_t count)
{
	struct removal removal = { .sets = sets, .count = count };
	pthread_t threads[REMOVAL_THREADS - 1];
	size_t wanted = count < REMOVAL_THREADS ? count : REMOVAL_THREADS, started = 0;
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	while (started + 1 < wanted && !pthread_create(&threads[started], &attr, detach_sets, &removal))
		started++;
	pthread_attr_destroy(&attr);
	detach_sets(&removal);
	while (started)
		pthread_join(threads[--started], NULL);
}
