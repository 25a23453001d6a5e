/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading the BPF ring buffer. */
#ifndef GPUMEMTRACE_LIVE_BPF_RING_H
#define GPUMEMTRACE_LIVE_BPF_RING_H

#include <stddef.h>

struct ring;

/* One record; it is valid during the call only. */
typedef void (*ring_fn)(void *arg, const void *record, size_t size);

int ring_open(struct ring **out, int map_fd, ring_fn fn, void *arg);   /* -errno */
void ring_close(struct ring *ring);

/* Readable when the ring fills up; at other times it has to be looked at by a timer, as the programs
 * do not wake the reader for each record. */
int ring_epoll_fd(const struct ring *ring);

/* Takes all records that are there. How many; -errno. */
int ring_consume(struct ring *ring);

#endif
