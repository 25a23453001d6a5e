/* SPDX-License-Identifier: BSD-2-Clause */
/* `gpumemtrace replay`: the report of a recording, from the same ledger and sinks as a live one. */
#ifndef GPUMEMTRACE_COMMAND_REPLAY_H
#define GPUMEMTRACE_COMMAND_REPLAY_H

struct options;

/* Prints the report to standard output, messages to standard error. An exit code (exit_codes.h). */
int replay_run(const struct options *options);

#endif
