/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names the frames of stacks: takes the kernel's STACK records, gives SYMBOL and STACK_FRAMES records. Equal symbols
 * are given once. Slow, as files are opened and the process's memory is read, and for one thread only.
 */
#ifndef GPUMEMTRACE_LIVE_STACKS_STACK_NAMES_H
#define GPUMEMTRACE_LIVE_STACKS_STACK_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include <gpumemtrace/wire.h>

#include "symbol/symbolizer.h"

struct naming;
struct space;

typedef void (*naming_put)(void *arg, const void *record, size_t size);

/* `put` gets the records. `client`, which must stay, reads files; `refused` hears of those that it cannot read. */
struct naming *naming_new(struct parse_client *client, naming_put put, symbolizer_refused refused, void *arg);
void naming_free(struct naming *naming);

/* Gives back the memory of all names. Symbols get new ids from now on. */
void naming_forget(struct naming *naming);

/* Names a stack of the space's process. What may have been other code than the lists of mappings say has no name. If
 * Python frames have none, the stack gets the reason GMT_PY_END_UNNAMED, unless it has a reason that says as much. A
 * stack with a new reason is put once more, and so is one that `is_changed` says to be another than was put. */
void naming_stack(struct naming *naming, struct space *space, struct gmt_stack *stack, bool is_changed);

/* Reads the names of Python's frames in advance, as they may soon be gone. */
void naming_python(struct naming *naming, struct space *space, const struct gmt_stack *stack);

#define NAMING_TEXT_MAX 4096     /* bytes of one text of a symbol */

/* Copies a text of a symbol, with a NUL. A longer text is cut, and ends with dots. Returns the length. NULL: "". */
size_t naming_text(unsigned char *to, const char *from);

#endif
