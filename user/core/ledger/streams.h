/* SPDX-License-Identifier: BSD-2-Clause */
/* Streams: in which context each is, and what goes with a stream: the capture that began there. */
#ifndef GPUMEMTRACE_CORE_LEDGER_STREAMS_H
#define GPUMEMTRACE_CORE_LEDGER_STREAMS_H

#include <stdbool.h>
#include <stdint.h>

struct process;
struct stream_ended;
struct thread;

/* The stream is gone. `gone` is what it was; false: it was not known. */
bool streams_end(struct process *p, uint64_t handle, struct stream_ended *gone, uint64_t ts_ns);
/* The call that ended the stream has failed. What had been captured there stays forgotten, which is counted. */
void streams_put_back(struct process *p, uint64_t handle, const struct stream_ended *gone);

/* The default stream of a capturing thread is gone. True: what had been captured there is forgotten. */
bool streams_end_own(struct process *p, struct thread *t, uint32_t tid, uint64_t ts_ns);

#endif
