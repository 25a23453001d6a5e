/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The process that stands between a command's pseudo terminal and the real terminal. It outlives the tracer, whatever
 * ends the tracer: without a reader the command's writes would fail or wait. Only for relay.c.
 */
#ifndef GPUMEMTRACE_LIVE_PROCESS_RELAY_CHILD_H
#define GPUMEMTRACE_LIVE_PROCESS_RELAY_CHILD_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define RELAY_BYTES (64 << 10)   /* of text that are kept */
#define RELAY_READ 4096          /* at most, in one go: what a pseudo terminal gives */
#define RELAY_LEAVING 512

/* Of a read or write: what fails now may work in a moment, what is closed fails always. */
#define RELAY_TRIES 8

/* Orders of the tracer, one byte each. Each is answered with the same byte. */
enum relay_order {
	RELAY_READY = 'r',       /* no order: sent once, when the process can do its work */
	RELAY_HOLD = 'h',        /* keep the text; answered at once: nothing is written any more */
	RELAY_PASS = 'p',        /* write what was kept, and then all text; answered when all was written */
};

/* Shared memory. */
struct relay_shared {
	/* the last bytes of the text; byte N is at N % RELAY_BYTES. `end`, their number ever, grows after the bytes
	 * are there */
	_Atomic uint64_t end;
	char bytes[RELAY_BYTES];
	/* what leaves the screen that the tracer has drawn, if the tracer cannot do so; written before RELAY_HOLD */
	char leaving[RELAY_LEAVING];
	size_t leaving_size;
};

/* Never returns. The descriptors are the process's own; no others stay open. */
_Noreturn void relay_run(int control, int master, int terminal, struct relay_shared *shared);

#endif
