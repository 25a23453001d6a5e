/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes dumps while tracing goes on: when a process runs out of memory, and when the user asks for one. A dump is
 * written at once, as a whole file or not at all. It is written again under its name when more is known: the process
 * died of the failure, or stacks got names. A thread of its own writes, so that records are not held up.
 */
#ifndef GPUMEMTRACE_DUMPING_H
#define GPUMEMTRACE_DUMPING_H

#include <stdbool.h>
#include <stdint.h>

struct dumping;
struct oom;
struct options;
struct pipeline;

/* The pipeline watches requests. If it has a history, each dump contains the latest events. */
struct dumping *dumping_new(const struct options *options, struct pipeline *pipeline);

/* Takes in the pipeline's verdicts; to be called often. Messages go to standard error. */
void dumping_look(struct dumping *dumping, uint64_t now_ns);
/* Dumps a picture of the present state. */
void dumping_ask(struct dumping *dumping, uint64_t now_ns);
/* The newest request that failed for good, with its picture; NULL: there is none. It stays until the next
 * dumping_look(). */
const struct oom *dumping_newest_oom(const struct dumping *dumping);
/* The stream is over. Waits until all dumps are written, but not longer than `wait_ns`. */
void dumping_finish(struct dumping *dumping, uint64_t now_ns, uint64_t wait_ns);
/* Waits once more, and says it if a dump is still missing. */
void dumping_wait(struct dumping *dumping, uint64_t wait_ns);

/* The path of the newest dump that was written; NULL: there is none. Good until the next look. */
const char *dumping_newest(const struct dumping *dumping);

/* False: a dump is still being written, and everything stays. NULL is fine. */
bool dumping_free(struct dumping *dumping);

#endif
