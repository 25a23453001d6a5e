// SPDX-License-Identifier: BSD-2-Clause
#include "live/stacks/map_publisher.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "live/process/own_memory.h"

/* One change of a map of maps. */
struct order {
	int map;
	uint32_t key;
	int fd;                       /* -1: the key is removed, and its slot is free then */
};

struct publisher {
	struct stack_maps maps;
	pthread_t thread;
	bool has_thread;
	uint32_t generation;          /* the newest that was given out */
	uint64_t bytes;               /* of the maps inside maps */
	uint64_t list_bytes[GMT_STACK_SPACES]; /* of them, of the list in a slot */
	pthread_mutex_t lock;
	pthread_cond_t work;
	/* under the lock */
	bool is_ending;
	struct order *orders;         /* the oldest first */
	size_t count;
	int64_t given, done;          /* orders, ever */
	int refusal;                  /* the first error of a map that was to be put in its place */
	uint32_t slots[GMT_STACK_SPACES]; /* free ones: taken from the front, returned at the end. So a slot */
	uint32_t first_free, free_count;  /* ... is used again as late as possible, when no walk sees it. */
};

/* ---- the thread that waits for the kernel ---- */

static int carry_out(const struct order *order)
{
	int err;

	if (order->fd < 0) {
		bpf_map_delete_elem(order->map, &order->key);
		return 0;
	}
	err = bpf_map_update_elem(order->map, &order->key, &order->fd, BPF_ANY) ? -errno : 0;
	close(order->fd);             /* the map of maps holds it */
	return err;
}

static void finish_order(struct publisher *publisher, const struct order *order, int err)
{
	publisher->done++;
	publisher->refusal = publisher->refusal ?: err;
	if (order->fd < 0)
		publisher->slots[(publisher->first_free + publisher->free_count++) % GMT_STACK_SPACES] = order->key;
}

static void *carry_out_orders(void *arg)
{
	struct publisher *publisher = arg;

	pthread_setname_np(pthread_self(), "gmt-maps");
	pthread_mutex_lock(&publisher->lock);
	for (;;) {
		struct order order;
		int err;

		while (!publisher->count && !publisher->is_ending)
			pthread_cond_wait(&publisher->work, &publisher->lock);
		if (publisher->is_ending)
			break;
		order = publisher->orders[0];
		memmove(publisher->orders, publisher->orders + 1, --publisher->count * sizeof(order));
		pthread_mutex_unlock(&publisher->lock);
		err = carry_out(&order);
		pthread_mutex_lock(&publisher->lock);
		finish_order(publisher, &order, err);
	}
	pthread_mutex_unlock(&publisher->lock);
	return NULL;
}

/* ---- the thread that calls ---- */

static int64_t give_order(struct publisher *publisher, const struct order *order)
{
	int64_t number;

	pthread_mutex_lock(&publisher->lock);
	number = ++publisher->given;
	if (publisher->has_thread) {
		publisher->orders = xgrow(publisher->orders, publisher->count, sizeof(*order));
		publisher->orders[publisher->count++] = *order;
		pthread_cond_signal(&publisher->work);
	} else {
		finish_order(publisher, order, carry_out(order));
	}
	pthread_mutex_unlock(&publisher->lock);
	return number;
}

static uint32_t take_slot(struct publisher *publisher)
{
	uint32_t slot = PUBLISHER_NO_SLOT;

	pthread_mutex_lock(&publisher->lock);
	if (publisher->free_count) {
		slot = publisher->slots[publisher->first_free];
		publisher->first_free = (publisher->first_free + 1) % GMT_STACK_SPACES;
		publisher->free_count--;
	}
	pthread_mutex_unlock(&publisher->lock);
	return slot;
}

int64_t publisher_put_list(struct publisher *publisher, int fd, uint32_t *slot)
{
	*slot = take_slot(publisher);
	if (*slot == PUBLISHER_NO_SLOT) {
		close(fd);
		return -ENOSPC;
	}
	publisher->list_bytes[*slot] = own_memory_map(fd);
	publisher->bytes += publisher->list_bytes[*slot];
	return give_order(publisher, &(struct order){ publisher->maps.mappings, *slot, fd });
}

void publisher_drop_list(struct publisher *publisher, uint32_t slot)
{
	if (slot == PUBLISHER_NO_SLOT)
		return;
	publisher->bytes -= publisher->list_bytes[slot];
	publisher->list_bytes[slot] = 0;
	give_order(publisher, &(struct order){ publisher->maps.mappings, slot, -1 });
}

void publisher_put_shard(struct publisher *publisher, uint32_t i, int fd)
{
	publisher->bytes += own_memory_map(fd);
	give_order(publisher, &(struct order){ publisher->maps.shards, i, fd });
}

uint64_t publisher_bytes(const struct publisher *publisher)
{
	return publisher->bytes;
}

/* Traced threads read the entry of their process again when the counter has changed. */
static void say_changed(struct publisher *publisher)
{
	if (publisher->maps.spaces_changed)
		__atomic_add_fetch(publisher->maps.spaces_changed, 1, __ATOMIC_RELEASE);
}

uint32_t publisher_mapped(struct publisher *publisher, uint32_t tgid)
{
	uint32_t number = 1;

	bpf_map_update_elem(publisher->maps.mapped, &tgid, &number, BPF_NOEXIST);
	return bpf_map_lookup_elem(publisher->maps.mapped, &tgid, &number) ? 0 : number;
}

int publisher_tell(struct publisher *publisher, uint32_t tgid, struct gmt_stack_space *space)
{
	space->generation = ++publisher->generation;
	if (bpf_map_update_elem(publisher->maps.spaces, &tgid, space, BPF_ANY))
		return -errno;
	say_changed(publisher);
	return 0;
}

void publisher_forget(struct publisher *publisher, uint32_t tgid)
{
	bpf_map_delete_elem(publisher->maps.spaces, &tgid);
	say_changed(publisher);
}

void publisher_ended(struct publisher *publisher, uint32_t tgid)
{
	bpf_map_delete_elem(publisher->maps.mapped, &tgid);
}

bool publisher_is_done(struct publisher *publisher, int64_t number)
{
	bool is_done;

	pthread_mutex_lock(&publisher->lock);
	is_done = number <= publisher->done;
	pthread_mutex_unlock(&publisher->lock);
	return is_done;
}

int publisher_refusal(struct publisher *publisher)
{
	int refusal;

	pthread_mutex_lock(&publisher->lock);
	refusal = publisher->refusal;
	pthread_mutex_unlock(&publisher->lock);
	return refusal;
}

struct publisher *publisher_new(const struct stack_maps *maps)
{
	struct publisher *publisher = xcalloc(1, sizeof(*publisher));

	publisher->maps = *maps;
	publisher->free_count = GMT_STACK_SPACES;
	for (uint32_t i = 0; i < GMT_STACK_SPACES; i++)
		publisher->slots[i] = i;
	pthread_mutex_init(&publisher->lock, NULL);
	pthread_cond_init(&publisher->work, NULL);
	publisher->has_thread = !pthread_create(&publisher->thread, NULL, carry_out_orders, publisher);
	return publisher;
}

void publisher_free(struct publisher *publisher)
{
	if (!publisher)
		return;
	pthread_mutex_lock(&publisher->lock);
	publisher->is_ending = true;
	pthread_cond_signal(&publisher->work);
	pthread_mutex_unlock(&publisher->lock);
	if (publisher->has_thread)
		pthread_join(publisher->thread, NULL);
	for (size_t i = 0; i < publisher->count; i++)
		if (publisher->orders[i].fd >= 0)
			close(publisher->orders[i].fd);
	pthread_mutex_destroy(&publisher->lock);
	pthread_cond_destroy(&publisher->work);
	free(publisher->orders);
	free(publisher);
}
