// SPDX-License-Identifier: BSD-2-Clause
#include "live/bpf/ring.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/xalloc.h"

struct ring {
	struct ring_buffer *buffer;
	ring_fn fn;
	void *arg;
};

static int pass_record(void *arg, void *record, size_t size)
{
	struct ring *ring = arg;

	ring->fn(ring->arg, record, size);
	return 0;
}

int ring_open(struct ring **out, int map_fd, ring_fn fn, void *arg)
{
	struct ring *ring = xcalloc(1, sizeof(*ring));

	ring->fn = fn;
	ring->arg = arg;
	ring->buffer = ring_buffer__new(map_fd, pass_record, ring, NULL);
	if (!ring->buffer) {
		int err = -errno;

		free(ring);
		return err;
	}
	*out = ring;
	return 0;
}

void ring_close(struct ring *ring)
{
	if (!ring)
		return;
	ring_buffer__free(ring->buffer);
	free(ring);
}

int ring_epoll_fd(const struct ring *ring)
{
	return ring_buffer__epoll_fd(ring->buffer);
}

int ring_consume(struct ring *ring)
{
	return ring_buffer__consume(ring->buffer);
}
