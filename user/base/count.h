/* SPDX-License-Identifier: BSD-2-Clause */
/* How many items an array has. */
#ifndef GPUMEMTRACE_BASE_COUNT_H
#define GPUMEMTRACE_BASE_COUNT_H

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
