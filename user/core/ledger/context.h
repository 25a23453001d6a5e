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

#include "base/hash.h"

struct process;
struct event;
struct undo;
struct thread;

struct context {
	uint32_t live;       /* allocations made in it */
	uint8_t ordinal;     /* ORDINAL_NONE */
	bool shared;         /* primary, or green on top of it: they share their memory */
};

struct stream {
	uint16_t context;    /* 0: unknown */
	bool capturing;
};

/* A CUDA device as the process numbers it. */
struct device {
	int16_t gpu;         /* GPU_UNKNOWN */
	uint8_t row;         /* of the process's account; 0: not known yet */
	uint32_t refs;       /* of the primary context, since attach */
};

struct contexts {
	struct context *list; /* list[0] stands for the unknown one */
	uint32_t count;
	struct hash by_handle; /* uint16_t; of green contexts also the CUgreenCtx */
	struct hash streams;   /* struct stream */
	struct device *devices;
	uint32_t device_count;
	uint32_t capturing;    /* streams that are capturing now */
};

void contexts_init(struct contexts *contexts);
void contexts_fini(struct contexts *contexts);
uint64_t contexts_bytes(const struct contexts *contexts);

/* The context current to the event's thread; 0 unknown. */
unsigned int context_current(const struct event *e);
/* That of a stream; the values 0, 1 and 2 mean the current one's. */
unsigned int context_of_stream(const struct event *e, uint64_t stream);
/* Whether what is put on the stream goes into a graph. */
bool context_is_capturing(const struct event *e, uint64_t stream);

/* CUDA ordinal of a context, ORDINAL_NONE; and the GPU of an ordinal, GPU_UNKNOWN. */
unsigned int context_ordinal(const struct contexts *contexts, unsigned int context);
int context_gpu(const struct contexts *contexts, unsigned int ordinal);
/* Memory asked for on the ordinal lies on this GPU. Does nothing if its UUID was seen. */
void context_learn_gpu(struct contexts *contexts, unsigned int ordinal, int gpu);
/* NULL for ORDINAL_NONE; good until the next is asked for. */
struct device *context_device(struct contexts *contexts, unsigned int ordinal);
/* An ordinal as it comes in a record. */
unsigned int context_ordinal_of(uint64_t dev);

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
