/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the files at the end, from the same views as the report and from the history of device memory. */
#ifndef GPUMEMTRACE_OUTPUT_FILES_H
#define GPUMEMTRACE_OUTPUT_FILES_H

struct attribution;
struct diff;
struct oom;
struct options;
struct pipeline;
struct ranks;
struct sink_opts;

/* Writes the files that the options ask for. Each process that had device memory gets its own file of the history: for
 * one process the name that was given, else names with the pid before the suffix. Says which files were written, and
 * what went wrong. picture: the newest one of a dump, which the files show that can; else NULL. 0 or -errno. */
int output_files_write(const struct options *options, struct attribution *attribution, const struct pipeline *pipeline,
		       const struct oom *picture, const struct sink_opts *opts);

/* Writes the files that show what two recordings or moments differ in, or the ranks of a job. Says what went wrong.
 * 0 or -errno. */
int output_files_diff(const struct options *options, const struct diff *diff, const struct sink_opts *opts);
int output_files_ranks(const struct options *options, const struct ranks *ranks, const struct sink_opts *opts);

/* Whether the files and the dumps can be written, as far as that can be known before tracing. 0 or -errno after a
 * sentence. Only a sentence if dumps cannot be written to the current directory, which nobody named. */
int output_files_check(const struct options *options);

#endif
