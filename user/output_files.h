/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that are written at the end, of what the report is made of and of what happened to device memory lately. */
#ifndef GPUMEMTRACE_OUTPUT_FILES_H
#define GPUMEMTRACE_OUTPUT_FILES_H

struct attribution;
struct options;
struct pipeline;
struct sink_opts;

/* Writes those that the options ask for. Of the history one for each process that had device memory: as it was called
 * if there is one, else with the pids before the suffix. Says which, and what is wrong. 0 or -errno. */
int output_files_write(const struct options *options, struct attribution *attribution, const struct pipeline *pipeline,
		       const struct sink_opts *opts);

#endif
