/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the BPF ring buffer. */
#ifndef GPUMEMTRACE_LIVE_BPF_RING_H
#define GPUMEMTRACE_LIVE_BPF_RING_H

#include <stddef.h>
#include <stdint.h>

struct ring_buffer; /* libbpf's */

/* Takes one record, which is valid during the call, and returns 0. */
typedef int (*ring_fn)(void *arg, void *record, size_t size);

int ring_open(struct ring_buffer **ring, int map_fd, ring_fn fn, void *arg);   /* 0 or -errno */
void ring_close(struct ring_buffer *ring);   /* may be NULL */

/* The descriptor is readable when the ring fills up. At other times a timer has to look at the ring, because the
 * programs do not wake the reader for each record. */
int ring_epoll_fd(const struct ring_buffer *ring);

/* Takes all records that are there. Returns their number, or -errno. */
int ring_consume(struct ring_buffer *ring);

/* The size of a ring that holds so many bytes: a power of two, at least a page and at most 2 GiB. */
uint64_t ring_round(uint64_t bytes);

#endif
