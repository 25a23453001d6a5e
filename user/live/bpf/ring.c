// SPDX-License-Identifier: BSD-2-Clause
#include "live/bpf/ring.h"

#include <unistd.h>

#include <bpf/libbpf.h>
#include <errno.h>

int ring_open(struct ring_buffer **ring, int map_fd, ring_fn fn, void *arg)
{
	*ring = ring_buffer__new(map_fd, fn, arg, NULL);
	return *ring ? 0 : -errno;
}

void ring_close(struct ring_buffer *ring)
{
	ring_buffer__free(ring);
}

int ring_epoll_fd(const struct ring_buffer *ring)
{
	return ring_buffer__epoll_fd(ring);
}

int ring_consume(struct ring_buffer *ring)
{
	return ring_buffer__consume(ring);
}

uint64_t ring_round(uint64_t bytes)
{
	uint64_t size = sysconf(_SC_PAGESIZE);

	while (size < bytes && size < 1u << 31)
		size <<= 1;
	return size;
}
