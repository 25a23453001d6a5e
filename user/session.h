/* SPDX-License-Identifier: BSD-2-Clause */
/* Tracing: one session, from its setup to its report. */
#ifndef GPUMEMTRACE_SESSION_H
#define GPUMEMTRACE_SESSION_H

struct attribution;
struct options;

/* Traces until the targets are gone, the time is over or a signal comes. With a command: the command's exit status. */
int session_run(const struct options *options, struct attribution *attribution);

#endif
