/* SPDX-License-Identifier: BSD-2-Clause */
/* Tracing: from the command line's options to the report. */
#ifndef GPUMEMTRACE_SESSION_H
#define GPUMEMTRACE_SESSION_H

struct options;

/* Runs until the targets are gone, the time is over or a signal comes. The exit status: enum gmt_exit,
 * or the command's. Messages go to standard error. */
int session_run(const struct options *options);

#endif
