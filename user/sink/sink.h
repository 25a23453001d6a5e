/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A sink turns views into text. It is a const table of functions, one file and one row of the registry
 * a format; NULL where a format has nothing to say. Sinks keep no state and change none: a live frame
 * is a function of the view, the one before it and the options.
 */
#ifndef GPUMEMTRACE_SINK_SINK_H
#define GPUMEMTRACE_SINK_SINK_H

#include <stdbool.h>
#include <stddef.h>

#include <gpumemtrace/api.h>

#include "core/terms/feature.h"
#include "core/view/view.h"

struct out;

struct sink_opts {
	unsigned width, height;     /* of the terminal; 0: there is none, nothing is cut */
	bool color;
	bool full_stacks;           /* all frames, also those that say nothing */
	const char *const *notes;   /* sentences that belong to the result: recording incomplete, from when */
	size_t note_count;
};

struct sink_ops {
	const char *name;
	const char *help;
	void (*start)(struct out *out, const struct sink_opts *opts);
	/* `previous` is the view of the last call, for rates; NULL in the first. */
	void (*live)(struct out *out, const struct view *now, const struct view *previous,
		     const struct sink_opts *opts);
	void (*stop)(struct out *out, const struct sink_opts *opts);  /* undoes start(); before report() */
	void (*report)(struct out *out, const struct view *view, const struct sink_opts *opts);
};

extern const struct sink_ops sink_term;    /* a table refreshed in place, then the report */
extern const struct sink_ops sink_plain;   /* a line for each process and GPU, then the report */
extern const struct sink_ops sink_json;    /* JSON lines */

/* NULL-terminated. */
extern const struct sink_ops *const sinks[];
const struct sink_ops *sink_find(const char *name);

/* Each calls the function if there is one, and flushes: one write. The sticky error of `out`. */
int sink_start(const struct sink_ops *ops, struct out *out, const struct sink_opts *opts);
int sink_live(const struct sink_ops *ops, struct out *out, const struct view *now,
	      const struct view *previous, const struct sink_opts *opts);
int sink_stop(const struct sink_ops *ops, struct out *out, const struct sink_opts *opts);
int sink_report(const struct sink_ops *ops, struct out *out, const struct view *view,
		const struct sink_opts *opts);

/* `gpumemtrace doctor` and `gpumemtrace list`: no view, so no sinks. */
void doctor_print(struct out *out, const struct feature *features, size_t count,
		  const struct sink_opts *opts);
void doctor_print_json(struct out *out, const struct feature *features, size_t count);
void list_print(struct out *out, const struct sink_opts *opts);
void list_print_json(struct out *out);

#endif
