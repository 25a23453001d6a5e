/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An output turns views into text: a format, which shows them on standard output, or a file that is written at the
 * end. It is a const table of functions, one file, and a row of the registry; NULL where it has nothing to say. The
 * options, the commands that take them and what is written when are found from the table. Sinks keep no state and
 * change none: a live frame is a function of the view, the one before it and the options.
 */
#ifndef GPUMEMTRACE_SINK_SINK_H
#define GPUMEMTRACE_SINK_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/terms/feature.h"
#include "core/view/view.h"

struct frames;
struct gmt_hdr;
struct oom_view;
struct out;
struct snapshot;

#define SINKS_MAX 16

struct sink_opts {
	unsigned width, height;     /* of the terminal that shows live views; 0: nothing is cut */
	bool color;
	bool full_stacks;           /* all frames, also those that say nothing */
	bool verbose;
	enum view_order folded_by;
	const char *const *notes;   /* sentences that belong to the result: recording incomplete, from when */
	size_t note_count;
	size_t printed;             /* OOMs before this one */
};

/* A process's history as a sink sees it. */
struct sink_history {
	const struct snapshot *snapshot;
	const struct frames *frames; /* what its stacks are made of */
	int64_t wall_ns;            /* CLOCK_REALTIME at CLOCK_MONOTONIC 0, as well as it is known */
};

/* What tracing takes for a file. */
enum sink_want {
	SINK_WANTS_BLOCKS = 1,      /* stacks and requested sizes of PyTorch's blocks */
};

struct sink {
	const char *name;           /* and its option's: --NAME, or --NAME FILE */
	const char *help, *manual;  /* that option's, as in cli_rows.h; NULL: it has none */

	/* A format. Of those without an option the first that fits is taken where no other is asked for. */
	bool needs_terminal;
	bool is_data;               /* for programs: on standard output even if a traced command shares it */
	void (*start)(struct out *out, const struct sink_opts *opts);
	/* `previous` is the view of the last call, for rates; NULL in the first. */
	void (*live)(struct out *out, const struct view *now, const struct view *previous,
		     const struct sink_opts *opts);
	void (*stop)(struct out *out, const struct sink_opts *opts);  /* undoes start(); before report() */
	void (*report)(struct out *out, const struct view *view, const struct sink_opts *opts);
	/* gpumemtrace oom: each request that could not be met; that there was none. */
	void (*oom)(struct out *out, const struct oom_view *view, const struct sink_opts *opts);
	void (*no_oom)(struct out *out, const struct sink_opts *opts);
	/* gpumemtrace records: each record (wire.h), which may hold any bytes; since the session's start. */
	void (*record)(struct out *out, const struct gmt_hdr *record, int64_t offset_ns);
	/* gpumemtrace doctor, gpumemtrace list. */
	void (*doctor)(struct out *out, const struct feature *features, size_t count, const struct sink_opts *opts);
	void (*list)(struct out *out, const struct sink_opts *opts);

	/* A file, which has one of the write functions. */
	const char *suffix;         /* "-o FILE.SUFFIX" means the same as "--NAME FILE.SUFFIX"; NULL: no suffix does */
	unsigned wants;             /* enum sink_want, or-ed */
	/* Of all processes. ask() changes what the view has, which else is what the report has. */
	void (*ask)(struct view_request *request, const struct sink_opts *opts);
	void (*write)(struct out *out, const struct view *view, const struct sink_opts *opts);
	/* Of the events that --window keeps, a file for each process. */
	void (*write_history)(struct out *out, const struct sink_history *history, const struct sink_opts *opts);
};

/* NULL-terminated. */
extern const struct sink *const sinks[];
const struct sink *sink_find(const char *name);

static inline bool sink_is_file(const struct sink *sink)
{
	return sink->write || sink->write_history;
}

/* Each calls the function if there is one, and flushes: one write. The sticky error of `out`. */
int sink_start(const struct sink *sink, struct out *out, const struct sink_opts *opts);
int sink_live(const struct sink *sink, struct out *out, const struct view *now,
	      const struct view *previous, const struct sink_opts *opts);
int sink_stop(const struct sink *sink, struct out *out, const struct sink_opts *opts);
int sink_report(const struct sink *sink, struct out *out, const struct view *view,
		const struct sink_opts *opts);

#endif
