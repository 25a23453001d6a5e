/* SPDX-License-Identifier: BSD-2-Clause */
/* Builds the parts of a view that are by stack, by owner and by line (view_stacks.h). */
#ifndef GPUMEMTRACE_CORE_VIEW_BY_STACK_H
#define GPUMEMTRACE_CORE_VIEW_BY_STACK_H

#include <stdint.h>

#include "core/account/stacks.h"
#include "core/account/sums.h"
#include "core/framework/iteration_marks.h"
#include "core/ledger/held.h"
#include "core/ledger/stack_ends.h"
#include "core/terms/frames.h"
#include "core/view/by_stack_order.h"
#include "core/view/view.h"

/* What is known of a stack besides its frames. */
enum by_stack_mark {
	BY_STACK_RESERVE = 1,    /* it allocated memory of a framework's reserve */
	BY_STACK_CUT = 2,        /* its walk ended early */
};

/* A line's number: a state; from here on an owner, for the driver's own memory; from by_stack_line_symbols() on the
 * symbol of its place. */
#define BY_STACK_LINE_OWNERS VIEW_LINE_STATE_COUNT

static inline uint32_t by_stack_owner_count(const struct view_request *request)
{
	return request->decide ? request->owner_count : 1;
}

static inline uint32_t by_stack_line_symbols(const struct view_request *request)
{
	return BY_STACK_LINE_OWNERS + by_stack_owner_count(request) + 2;
}

struct waiting_ids;

/* Scratch of one view. */
struct by_stack {
	const struct frames *frames;
	const struct view_request *request;
	struct by_stack_order order; /* of equals */
	struct view *view;
	struct sums stacks, owners; /* by the number of a stack (frames.h), and of an owner (view.owners) */
	struct sums lines;       /* by the number of a line, see line_of() */
	struct sums modules;     /* by the number of a path of modules */
	uint32_t *line_of;       /* stack -> its line, of the stacks in `stacks` */
	uint32_t *caller_of;     /* stack -> 1 + the symbol of its caller's place, 0: none; likewise */
	uint32_t *waiting_of;    /* stack -> the stack that waited for it, 0: none; likewise, and later in the view */
	uint8_t *marks;          /* stack -> enum by_stack_mark, of the part of the view that is being made */
	uint32_t *marked;        /* the stacks that have marks */
	size_t marked_count;
	uint32_t *stack_of;      /* stack -> 1 + index in view.stacks */
	uint32_t *symbol_of;     /* symbol -> 1 + index in view.symbols */
	uint32_t *module_of;     /* path of modules -> 1 + index in view.modules */
	bool has_ended;          /* the process whose stacks are added has */
	uint32_t *owner_of;      /* the request's owner -> index in view.owners, 0: not there yet */
};

void by_stack_init(struct by_stack *b, const struct frames *frames, const struct view_request *request,
		   struct view *view);
void by_stack_fini(struct by_stack *b);

/* Marks a stack, before any stack is added: enum by_stack_mark. by_stack_take() takes the marks away. */
void by_stack_mark(struct by_stack *b, uint32_t stack_id, unsigned int marks);
/* Says who waited while the stack's thread allocated, before the stack is added. */
void by_stack_set_waiting(struct by_stack *b, uint32_t stack_id, const struct waiting_ids *waiting);
/* Adds a stack to the sums. rise, age: NULL where it is not known. by_stack_take() moves the sums to `out`, except live
 * and peak; view_stacks_free() releases the arrays of `out`. */
void by_stack_add(struct by_stack *b, const struct stacks_row *row, const struct stacks_rise *rise,
		  const struct held_age *age);
void by_stack_take(struct by_stack *b, struct view_stacks *out);

/* From when growth counts, and the moments of the rise: enum stacks_moment. */
struct by_stack_moments {
	unsigned int since;
	uint64_t since_ns;
	unsigned int rise_at[STACKS_RISE_MOMENTS];
	struct view_rise rise;
	struct iteration_span iterations;
};

/* Whose stacks they are. Members but `stacks` may be NULL. */
struct by_stack_of {
	const struct stacks *stacks;
	const struct stack_ends *ends;
	const struct hash *waiting;      /* struct waiting_ids, by id */
	const struct hash *segments;     /* by id: stacks that allocated a framework's segments */
	const struct held_ages *ages;
	unsigned int row;                /* of the ages */
	bool has_ended;                  /* the process has */
};

/* Makes `out` of all stacks. */
void by_stack_fill(struct by_stack *b, const struct by_stack_of *of, const struct by_stack_moments *moments,
		   struct view_stacks *out);
/* Sets the purposes of stacks, and adds them to the lines. Of several stacks that are shown as one, the last stack
 * gives the purpose. */
void by_stack_set_purposes(struct by_stack *b, struct view_stacks *stacks, const struct view_purpose *purposes,
			   size_t count);
/* Adds the stack to view.stacks if need be, and returns its index there. */
uint32_t by_stack_show(struct by_stack *b, uint32_t stack_id);
/* The same for the stack that waited for it, if by_stack_set_waiting() has found one, else for the stack itself. */
uint32_t by_stack_show_waiting(struct by_stack *b, uint32_t stack_id);
/* What a framework's block is for, whose category is one less; 0: nobody has seen that, but a function of its stack may
 * say so. enum gmt_category. */
uint8_t by_stack_purpose(const struct by_stack *b, uint32_t stack_id, unsigned int category);

#endif
