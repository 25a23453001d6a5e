/* SPDX-License-Identifier: BSD-2-Clause */
/* The list of outputs. */
#include <string.h>

#include "base/out.h"
#include "sink/sink.h"

/* X(name): sink_NAME is the table of functions. */
#define SINKS(X)                                                                  \
	X(term)     /* a table refreshed in place, then the report */             \
	X(plain)    /* a line for each process and GPU, then the report */        \
	X(json)     /* JSON lines */                                              \
	X(folded)   /* a file of folded stacks, for flame graphs */               \
	X(snapshot) /* a file for PyTorch's memory viewers */

#define X(name) extern const struct sink sink_##name;
SINKS(X)
#undef X

const struct sink *const sinks[] = {
#define X(name) &sink_##name,
	SINKS(X)
#undef X
	NULL
};
_Static_assert(sizeof(sinks) / sizeof(sinks[0]) <= SINKS_MAX + 1, "room for all");

const struct sink *sink_find(const char *name)
{
	for (size_t i = 0; sinks[i]; i++)
		if (!strcmp(sinks[i]->name, name))
			return sinks[i];
	return NULL;
}

int sink_start(const struct sink *sink, struct out *out, const struct sink_opts *opts)
{
	if (sink->start)
		sink->start(out, opts);
	return out_flush(out);
}

int sink_live(const struct sink *sink, struct out *out, const struct view *now,
	      const struct view *previous, const struct sink_opts *opts)
{
	if (sink->live)
		sink->live(out, now, previous, opts);
	return out_flush(out);
}

int sink_stop(const struct sink *sink, struct out *out, const struct sink_opts *opts)
{
	if (sink->stop)
		sink->stop(out, opts);
	return out_flush(out);
}

int sink_report(const struct sink *sink, struct out *out, const struct view *view,
		const struct sink_opts *opts)
{
	if (sink->report)
		sink->report(out, view, opts);
	return out_flush(out);
}
