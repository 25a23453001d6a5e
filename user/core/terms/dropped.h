/* SPDX-License-Identifier: BSD-2-Clause */
/* What the core could not keep because there was too much of it: counted, and told beside the numbers. */
#ifndef GPUMEMTRACE_CORE_TERMS_DROPPED_H
#define GPUMEMTRACE_CORE_TERMS_DROPPED_H

#include <stdint.h>

/* X(NAME, name, the text behind a count of 1, and behind any other count). JSON has the name with "_dropped". */
#define VIEW_DROPS(X)                                                             \
	X(NAMES, "names", "name was dropped: there were too many names of stack traces", \
	  "names were dropped: there were too many names of stack traces")        \
	X(WAITING, "waiting",                                                     \
	  "allocation was not put under the line that waited: autograd's threads had too many stack traces", \
	  "allocations were not put under the line that waited: autograd's threads had too many stack traces") \
	X(OWNERS, "owners",                                                       \
	  "stack trace stands under the framework in the place of the owner: there were too many owners", \
	  "stack traces stand under the framework in the place of the owner: there were too many owners") \
	X(STACK_ENDS, "stack_ends",                                               \
	  "stack trace is not among those that are counted as whole or cut: there were too many", \
	  "stack traces are not among those that are counted as whole or cut: there were too many") \
	X(CHECKPOINTED, "checkpointed",                                           \
	  "piece of memory of a checkpointed process counts as freed: there were too many", \
	  "pieces of memory of checkpointed processes count as freed: there were too many") \
	X(RANGES, "ranges",                                                       \
	  "range of a program is not whole in the window: too many were open at once, or had different names", \
	  "ranges of programs are not whole in the window: too many were open at once, or had different names") \
	X(PHASES, "phases",                                                       \
	  "range of a training is in no phase, or has no name: too many were open at once, or had different names", \
	  "ranges of trainings are in no phase, or have no name: too many were open at once, or had different names")

#define X(name, ...) VIEW_DROP_##name,
enum view_drop { VIEW_DROPS(X) VIEW_DROP_COUNT };
#undef X

const char *view_drop_name(enum view_drop drop);
const char *view_drop_text(enum view_drop drop, uint64_t count); /* to follow the count */

#endif
