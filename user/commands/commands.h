/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The commands that read records. Each prints to standard output, says on standard error what is wrong, and returns an
 * exit code (exit_codes.h). The attribution serves one command.
 */
#ifndef GPUMEMTRACE_COMMANDS_COMMANDS_H
#define GPUMEMTRACE_COMMANDS_COMMANDS_H

struct attribution;
struct options;

/* gpumemtrace report: the report of a recording, from the same pipeline and sinks as a live one. */
int replay_run(const struct options *options, struct attribution *attribution);
/* The same of several recordings: the ranks of one job. */
int ranks_run(const struct options *options, struct attribution *attribution);
/* gpumemtrace oom: what a dump or a recording says about requests that could not be met. */
int oom_run(const struct options *options, struct attribution *attribution);
/* gpumemtrace diff: what two recordings or dumps, or two moments of one, hold. */
int diff_run(const struct options *options, struct attribution *attribution);
/* gpumemtrace records: the records of a recording or dump, a line each. */
int records_run(const struct options *options);

#endif
