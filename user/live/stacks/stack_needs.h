/* SPDX-License-Identifier: BSD-2-Clause */
/* What a stack lacks that a later look at its process may bring. */
#ifndef GPUMEMTRACE_LIVE_STACKS_STACK_NEEDS_H
#define GPUMEMTRACE_LIVE_STACKS_STACK_NEEDS_H

#include <stdbool.h>

#include <gpumemtrace/stackmap.h>
#include <gpumemtrace/wire.h>

#include "live/stacks/address_space.h"

/* Whether BPF's walk ended because a table or a mapping was missing, which may come soon. */
bool stack_wants_tables(enum gmt_stack_mode mode, const struct gmt_stack *stack);

/* Whether a frame lies in code that was mapped after the last reading. */
bool stack_is_beyond(const struct space *space, const struct gmt_stack *stack);

/* Whether the stack lacks Python frames because BPF did not know the process's Python yet. If all native frames are
 * known and none of them is of CPython's eval function, the thread ran no Python. */
bool stack_lacks_python(const struct space *space, const struct gmt_stack *stack);

#endif
