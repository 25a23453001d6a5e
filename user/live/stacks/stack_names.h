/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stacks into words: takes the kernel's STACK records, gives SYMBOL and STACK_FRAMES records. A symbol is
 * given out once: what looks the same is the same. Slow (files are opened, the process's memory is read)
 * and of one thread only.
 */
#ifndef GPUMEMTRACE_LIVE_STACKS_STACK_NAMES_H
#define GPUMEMTRACE_LIVE_STACKS_STACK_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

struct naming;
struct space;

typedef void (*naming_put)(void *arg, const void *record, size_t size);

/* `put` gets the records. */
struct naming *naming_new(naming_put put, void *arg);
void naming_free(struct naming *naming);

/* Names a stack of the space's process; its words lie in its record. */
void naming_stack(struct naming *naming, struct space *space, const struct gmt_stack *stack);

/* Reads only what may soon be gone: the names of Python's frames, for when the stack is named. */
void naming_python(struct naming *naming, struct space *space, const struct gmt_stack *stack);

#endif
