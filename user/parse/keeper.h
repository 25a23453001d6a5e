/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The life of the process that forks and kills workers. It has one thread and no privileges, and reads no files, so
 * that a worker begins with a clean memory. It ends when the tracer's end of the socket is closed, or when the tracer's
 * first thread ends, and takes the workers with it.
 */
#ifndef GPUMEMTRACE_PARSE_KEEPER_H
#define GPUMEMTRACE_PARSE_KEEPER_H

#include <sys/types.h>

struct parse_table;

/* Call in a child of `parent`. Never returns. */
_Noreturn void keeper_run(int control, pid_t parent, const struct parse_table *table);

#endif
