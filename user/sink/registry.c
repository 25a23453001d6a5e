/* SPDX-License-Identifier: BSD-2-Clause */
/* The list of outputs. */
#include "base/count.h"
#include "sink/sink.h"

/* X(name): sink_NAME is the table of functions. */
#define SINKS(X)                                                                  \
	X(plain)    /* a line for each process and GPU, then the report */        \
	X(json)     /* JSON lines */                                              \
	X(folded)   /* a file of folded stacks, for flame graphs */               \
	X(pprof)    /* a profile for go tool pprof */                             \
	X(snapshot) /* a file for PyTorch's memory viewers */                     \
	X(html)     /* a page for browsers, with memory over time */              \
	X(perfetto) /* a trace for Perfetto */                                    \
	X(sqlite)   /* a database with everything */

#define X(name) extern const struct sink sink_##name;
SINKS(X)
#undef X

const struct sink *const sinks[] = {
#define X(name) &sink_##name,
	SINKS(X)
#undef X
	NULL
};
_Static_assert(COUNT(sinks) <= SINKS_MAX + 1, "room for all");
