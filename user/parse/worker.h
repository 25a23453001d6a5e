/* SPDX-License-Identifier: BSD-2-Clause */
/* The life of a process that reads foreign files: it takes a request, answers it, and takes the next. */
#ifndef GPUMEMTRACE_PARSE_WORKER_H
#define GPUMEMTRACE_PARSE_WORKER_H

struct parse_table;

/* Requests come from CHANNEL_FD. Never returns. */
_Noreturn void worker_run(const struct parse_table *table);

#endif
