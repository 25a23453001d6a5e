/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers that tests change by the environment: bounds are smaller, and times are shorter. */
#ifndef GPUMEMTRACE_BASE_FOR_TESTS_H
#define GPUMEMTRACE_BASE_FOR_TESTS_H

#include <stdint.h>

/* The variable's value; `usual` where the variable is not set, or the program's privileges come from its file. */
uint32_t number_for_tests(const char *variable, uint32_t usual);

#endif
