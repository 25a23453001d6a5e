/* SPDX-License-Identifier: BSD-2-Clause */
/* The messages between the tracer, the keeper and the workers. All are processes of one program, so that the machine's
 * own layout serves. */
#ifndef GPUMEMTRACE_PARSE_CHANNEL_H
#define GPUMEMTRACE_PARSE_CHANNEL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "parse/kinds.h"

/* To the keeper, one packet each. */
enum channel_order { CHANNEL_START, CHANNEL_KILL, CHANNEL_KILL_ALL, CHANNEL_ASK_END };
struct channel_command {
	uint32_t order;
	uint32_t number;         /* of the worker, but for KILL_ALL; START comes with its end of a socket pair, and
				  * ASK_END with one on which the keeper sends a reply: the signal that ended
				  * the worker without an order; 0: none, or not known */
};

/* To a worker, with the descriptors; `size` bytes follow. */
struct channel_request {
	uint32_t kind;
	uint32_t size;
	uint64_t budget_ns;      /* of the worker's CPU time */
};

/* From a worker; `size` bytes follow. */
struct channel_reply {
	int32_t status;
	uint32_t reserved;
	uint64_t size;
};

#define CHANNEL_FD 3            /* the keeper's and the worker's descriptor */

/* Sends the parts in one message, with the descriptors that are not -1. 0 or -errno. */
int channel_send(int fd, struct iovec *parts, size_t count, const int fds[PARSE_FDS]);

/* Receives all bytes, and the descriptors that come with the first of them. 0; -EPIPE: end of file; else -errno. */
int channel_receive(int fd, void *to, size_t size, int fds[PARSE_FDS]);

#endif
