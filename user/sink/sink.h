/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An output (sink) turns views into text: a format shows them on standard output, a file is written at the end. A sink
 * is a const table of functions in a file of its own, and a row of the registry; a function that the sink does not need
 * is NULL. The options and the commands that take them follow from the table. Sinks keep no state: a live frame depends
 * on the view, the previous view and the options alone. The screen, which has a state, is no sink (screen/screen.h).
 */
#ifndef GPUMEMTRACE_SINK_SINK_H
#define GPUMEMTRACE_SINK_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/terms/feature.h"
#include "core/view/view.h"

struct cuda_processes;
struct diff;
struct frames;
struct gmt_hdr;
struct gpus;
struct life_taker;
struct oom_view;
struct out;
struct ranks;
struct snapshot;

#define SINKS_MAX 16

struct sink_opts {
	bool color;
	unsigned columns;           /* of the terminal that shows the output; 0: there is none */
	uint64_t now_ns;            /* live views: CLOCK_MONOTONIC; 0: the view's newest record has the time */
	size_t top;                 /* rows of each table of a difference */
	bool full;                  /* all tables of the report, after the answer */
	bool full_stacks;           /* all frames, also those that say nothing about the owner */
	bool verbose;
	bool source;                /* with lines of source text: the output shows files of this machine */
	bool redact;                /* without command lines, folders and hosts: an output to be shared */
	enum view_order folded_by;
	const char *recording;      /* the file that holds the records; NULL: there is none */
	const pid_t *pids;          /* the processes of the recording that are shown; NULL: all */
	size_t pid_count;
	const char *gpu;            /* the GPU that is shown, as the user has named it; NULL: all */
	const char *dump;           /* the newest dump that was written; NULL: none */
	const char *const *notes;   /* sentences that belong to the result, such as "the recording is incomplete" */
	size_t note_count;
	size_t picture_notes;       /* so many of them, the first, belong to the picture of a dump, too */
	size_t printed;             /* failed requests printed before */
	const char *file;           /* of the failed request, where there are several; NULL */
	int64_t made_ns;            /* CLOCK_REALTIME when the output is made */
};

/* The history of a process for sinks. */
struct sink_history {
	const struct snapshot *snapshot;
	const struct frames *frames; /* of its stack traces */
	int64_t wall_ns;            /* the best estimate of CLOCK_REALTIME at CLOCK_MONOTONIC 0 */
};

/* What is known when the records are over. */
struct sink_end {
	const struct view *view;
	const struct frames *frames;
	const struct gpus *gpus;
	const struct view_request *request; /* who owns the memory of a stack */
};

/* A file that is written while records come (core/terms/lives_told.h). */
struct sink_stream {
	/* The file is new and empty, and stays the caller's. Never NULL: an error sticks. */
	const struct life_taker *(*begin)(int fd);
	int (*error)(const struct life_taker *taker);    /* 0, or -errno: nothing more is written */
	/* Frees the taker. end: NULL, the file will be removed. 0 or -errno. */
	int (*end)(const struct life_taker *taker, const struct sink_end *end);
};

/* What tracing has to do for a file. */
enum sink_want {
	SINK_WANTS_BLOCKS = 1,      /* take stack traces and requested sizes of PyTorch's blocks */
	SINK_WANTS_TIMELINE = 2,    /* keep memory over time (view_row.timeline) */
	SINK_WANTS_LIVES = 4,       /* keep single allocations (view.lives) */
	SINK_WANTS_INSTANTS = 8,    /* keep where memory lay at peaks and failed requests (view.instants) */
};

struct sink {
	const char *name;           /* of the sink and its option: --NAME, or --NAME FILE */
	const char *help, *manual;  /* of the option, as in cli_rows.h; NULL: there is no option */

	/* A format. The default is the first format that fits and has no option. */
	bool is_data;               /* for programs: on standard output even if a traced command writes there */
	/* previous: the view of the previous call, for rates; NULL in the first call. */
	void (*live)(struct out *out, const struct view *now, const struct view *previous,
		     const struct sink_opts *opts);
	void (*report)(struct out *out, const struct view *view, const struct sink_opts *opts);
	/* gpumemtrace oom: a failed request; the line if no request failed. */
	void (*oom)(struct out *out, const struct oom_view *view, const struct sink_opts *opts);
	void (*no_oom)(struct out *out, const struct sink_opts *opts);
	/* A failed request in a list of a directory's; NULL: oom() does. */
	void (*oom_row)(struct out *out, const struct oom_view *view, const struct sink_opts *opts);
	/* gpumemtrace diff. */
	void (*diff)(struct out *out, const struct diff *diff, const struct sink_opts *opts);
	/* gpumemtrace report of several recordings. */
	void (*ranks)(struct out *out, const struct ranks *ranks, const struct sink_opts *opts);
	/* gpumemtrace records: a record (wire.h), which may hold any bytes, and its time since the session's start. */
	void (*record)(struct out *out, const struct gmt_hdr *record, int64_t offset_ns);
	/* gpumemtrace doctor, gpumemtrace list, gpumemtrace ps. */
	void (*doctor)(struct out *out, const struct feature *features, size_t count, const struct sink_opts *opts);
	void (*list)(struct out *out, const struct sink_opts *opts);
	void (*processes)(struct out *out, const struct cuda_processes *processes, const struct sink_opts *opts);

	/* A file has one of the write functions, or a stream. */
	const char *suffix;         /* "-o FILE.SUFFIX" means the same as "--NAME FILE.SUFFIX"; NULL: no suffix does */
	const char *other_suffix;   /* means the same, but is not offered; NULL: there is none */
	unsigned wants;             /* enum sink_want, or-ed */
	/* One file for all processes. ask() changes the request for the view; else the report's request is used. */
	void (*ask)(struct view_request *request, const struct sink_opts *opts);
	void (*write)(struct out *out, const struct view *view, const struct sink_opts *opts);
	/* The same for a dump, whose picture has memory over time (oom_view.h); NULL: write() shows what it has. */
	void (*write_picture)(struct out *out, const struct oom_view *view, const struct sink_opts *opts);
	/* The same for what several recordings, or moments, differ in: gpumemtrace diff, gpumemtrace report. */
	void (*write_diff)(struct out *out, const struct diff *diff, const struct sink_opts *opts);
	void (*write_ranks)(struct out *out, const struct ranks *ranks, const struct sink_opts *opts);
	/* Why the file has nothing in it, as the end of the sentence "FILE is empty: ..."; NULL: it has something. */
	const char *(*why_empty)(const struct view *view, const struct sink_opts *opts);
	/* One file for each process, from the events that --window keeps. */
	void (*write_history)(struct out *out, const struct sink_history *history, const struct sink_opts *opts);
	const struct sink_stream *stream;
};

/* NULL-terminated. */
extern const struct sink *const sinks[];

static inline bool sink_is_file(const struct sink *sink)
{
	return sink->write || sink->write_history || sink->stream;
}

#endif
