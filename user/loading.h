/* SPDX-License-Identifier: BSD-2-Clause */
/* Passes on the messages of libbpf and of the kernel's verifier (-v). */
#ifndef GPUMEMTRACE_LOADING_H
#define GPUMEMTRACE_LOADING_H

#include <stdarg.h>

/* A programs_print_fn: each line is a message of its own, which a screen keeps (say.h). */
int loading_print(unsigned int level, const char *format, va_list args);

#endif
