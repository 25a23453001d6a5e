/* SPDX-License-Identifier: BSD-2-Clause */
/* `gpumemtrace records`: the records of a recording or dump, a line each. */
#ifndef GPUMEMTRACE_COMMAND_RECORDS_H
#define GPUMEMTRACE_COMMAND_RECORDS_H

struct options;

/* Prints to standard output, messages to standard error. An exit code (exit_codes.h). */
int records_run(const struct options *options);

#endif
