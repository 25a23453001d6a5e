/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes dumps while tracing goes on: when a process has run out of memory, and when one is asked for. A dump
 * is written at once, as a file that is there as a whole or not at all; again under its name when more is known
 * (that the process died of it, names of stacks). A thread of its own writes: records are not held up.
 */
#ifndef GPUMEMTRACE_DUMPING_H
#define GPUMEMTRACE_DUMPING_H

#include <stdint.h>

struct dumping;
struct options;
struct pipeline;

/* Of a pipeline that watches requests; what has happened of late is in each dump, if it has a history. */
struct dumping *dumping_new(const struct options *options, struct pipeline *pipeline);

/* Looks what the ledger has decided; to be called often. Messages go to standard error. */
void dumping_look(struct dumping *dumping, uint64_t now_ns);
/* A picture of everything as it is now. */
void dumping_ask(struct dumping *dumping, uint64_t now_ns);
/* The stream is over. Waits for what is being written. */
void dumping_finish(struct dumping *dumping, uint64_t now_ns);

void dumping_free(struct dumping *dumping);   /* NULL is fine */

#endif
