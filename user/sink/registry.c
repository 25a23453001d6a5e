/* SPDX-License-Identifier: BSD-2-Clause */
/* The formats: one row each. */
#include <string.h>

#include "base/out.h"
#include "sink/sink.h"

const struct sink_ops *const sinks[] = { &sink_term, &sink_plain, &sink_json, NULL };

const struct sink_ops *sink_find(const char *name)
{
	for (size_t i = 0; sinks[i]; i++)
		if (!strcmp(sinks[i]->name, name))
			return sinks[i];
	return NULL;
}

int sink_start(const struct sink_ops *ops, struct out *out, const struct sink_opts *opts)
{
	if (ops->start)
		ops->start(out, opts);
	return out_flush(out);
}

int sink_live(const struct sink_ops *ops, struct out *out, const struct view *now,
	      const struct view *previous, const struct sink_opts *opts)
{
	if (ops->live)
		ops->live(out, now, previous, opts);
	return out_flush(out);
}

int sink_stop(const struct sink_ops *ops, struct out *out, const struct sink_opts *opts)
{
	if (ops->stop)
		ops->stop(out, opts);
	return out_flush(out);
}

int sink_report(const struct sink_ops *ops, struct out *out, const struct view *view,
		const struct sink_opts *opts)
{
	if (ops->report)
		ops->report(out, view, opts);
	return out_flush(out);
}
