/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who waited while autograd's threads allocated: for a stack of such a thread, the stacks of the threads that had asked
 * for a backward then. Autograd's own stack has no line of the program.
 */
#ifndef GPUMEMTRACE_CORE_FRAMEWORK_WAITING_H
#define GPUMEMTRACE_CORE_FRAMEWORK_WAITING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"

#define WAITING_IDS_MAX 4            /* of a stack; with more, nobody can be named */
#define WAITING_STACKS_MAX (1u << 16)

/* All zeros: nobody. */
struct waiting_ids {
	uint32_t ids[WAITING_IDS_MAX];   /* stack ids */
	uint8_t count;
	bool is_uncertain;               /* there were more, or it was not certain once who waited */
};

/* `waiting`: struct waiting_ids by stack id; initialized with the first. `id` waited for an allocation by the stack; 0:
 * it is not known who waited. False: there are too many stacks, and the new one is not added. */
bool waiting_add(struct hash *waiting, uint32_t stack_id, uint32_t id);

/* The only stack that ever waited for an allocation by the stack; 0: nobody, several, or it is not certain. NULL is
 * fine. */
uint32_t waiting_only(const struct hash *waiting, uint32_t stack_id);

#endif
