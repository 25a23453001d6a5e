/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Contexts, streams, and what each thread has current: who an allocation belongs to, and on which
 * CUDA device it was asked for. What was set before attach is unknown (0), never guessed.
 *
 * A context has a number from 1 on; a handle that is given out again keeps its number, since all that
 * lived in the old context went with it.
 */
#ifndef GPUMEMTRACE_CORE_LEDGER_CONTEXT_H
#define GPUMEMTRACE_CORE_LEDGER_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

struct process;
struct event;
struct undo;
struct thread;

/* The context of a stream, 0 unknown; the values 0, 1 and 2 mean the current one's. */
unsigned int context_of_stream(const struct event *e, uint64_t stream);
/* Whether what is put on the stream goes into a graph. */
bool context_is_capturing(const struct event *e, uint64_t stream);

/* Operations (api.h). */
void context_create(struct event *e);
void context_destroy(struct event *e);
void context_set(struct event *e);
void context_push(struct event *e);
void context_pop(struct event *e);
void context_primary_retain(struct event *e);
void context_primary_release(struct event *e);
void context_primary_reset(struct event *e);
void context_green_create(struct event *e);
void context_green_destroy(struct event *e);
void context_from_green(struct event *e);
void context_device_uuid(struct event *e);

void context_stream_create(struct event *e);
void context_green_stream(struct event *e);
void context_capture_begin(struct event *e);
void context_capture_end(struct event *e);
void context_stream_destroy(struct event *e);
void context_stream_destroy_undo(struct event *e, struct undo *u);

#endif
