/* SPDX-License-Identifier: BSD-2-Clause */
/* Which call of a program fails: for the library that makes calls fail (fail_calls.c). */
#ifndef GPUMEMTRACE_TESTS_FAULTS_FAIL_WHICH_H
#define GPUMEMTRACE_TESTS_FAULTS_FAIL_WHICH_H

#include <stdbool.h>

enum kind { MALLOC, OPEN, READ, WRITE, MMAP, BPF, PERF, THREAD, WAIT, FILES, NONE };

/* Whether the call that the program is about to make fails; errno is set then. */
bool fails(enum kind kind, const char *function, const void *caller);

/* Whether calls of this kind are counted in this program. */
bool counts_kind(enum kind kind);

/* Whether the time of the day stands still, so that outputs can be compared. */
bool stops_clock(void);

/* A system call past all that is replaced. */
long real_syscall(long number, long a, long b, long c);

#endif
