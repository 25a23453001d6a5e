/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks of all kinds, each with the return addresses that another unwinder (libgcc's) finds in it. */
#ifndef TESTS_SYMBOL_STACKS_H
#define TESTS_SYMBOL_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include <gpumemtrace/unwind.h>

#define STACKS(X)                                              \
	X(PLAIN, "five calls without frame pointers")          \
	X(RECURSION, "100-deep recursion")                     \
	X(SIGNAL, "signal handler")                            \
	X(ALTSTACK, "signal handler on a stack of its own")    \
	X(FRAMELESS_SIGNAL, "signal in a leaf function")       \
	X(ALLOCA, "alloca")                                    \
	X(REALIGN, "stack realigned")                          \
	X(REALIGN_ARGS, "stack realigned, arguments on the stack") \
	X(THREAD, "thread")                                    \
	X(QSORT, "callback through libc")                      \
	X(PLT, "PLT entry")                                    \
	X(JIT, "code without unwind information")

enum stack_id {
#define X(name, text) STACK_##name,
	STACKS(X)
#undef X
	STACK_COUNT
};

#define STACKS_FRAMES 256

/* Frames above stacks_target(): expected[1] is its return address. 0: any. */
struct stacks_expected {
	int count;
	uintptr_t frames[STACKS_FRAMES];
};

extern struct stacks_expected stacks_expected[STACK_COUNT];
extern const char *const stacks_text[STACK_COUNT];

/* Called by stacks_target() with its own registers, unless NULL. */
extern void (*stacks_hook)(int id, uint64_t pc, uint64_t sp, uint64_t fp);

/* What the unwinder needs beside stacks_target()'s registers, which has saved x30. */
struct gmt_unwind_more stacks_more(void);

/* Builds the stack and calls stacks_target(id) in it. What is expected is only found out the first time. */
void stacks_run(int id);
void stacks_target(int id);
void stacks_outer(int id);
void stacks_inner(int id);

/* The PLT entry that STACK_PLT goes through once this is set; its callee is not stacks_target(). The
 * first time, it is not bound yet and is run to its end. */
extern bool stacks_is_armed;
uintptr_t stacks_plt(void);

/* Its first instructions. */
#define STACKS_PLT_OFFSETS 3
extern const unsigned int stacks_plt_offsets[STACKS_PLT_OFFSETS];

#endif
