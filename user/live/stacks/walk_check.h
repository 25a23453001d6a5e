/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks whether a stack was walked by mappings that were true when the stack was taken. */
#ifndef GPUMEMTRACE_LIVE_STACKS_WALK_CHECK_H
#define GPUMEMTRACE_LIVE_STACKS_WALK_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

struct space;

/* The moment of a stack (code_events.h), which it carries behind its words; 0: unknown. */
uint32_t walk_moment(const struct gmt_stack *stack);

/*
 * Cuts a stack off behind the first frame whose code was not what the walk took it for, with the reason
 * GMT_UNWIND_END_REMAPPED. Returns whether there was such a frame. `is_copy`: the collector walked a copy by the
 * space's present list; else BPF walked the stack by the list whose moment the stack carries.
 */
bool walk_check(const struct space *space, struct gmt_stack *stack, bool is_copy);

#endif
