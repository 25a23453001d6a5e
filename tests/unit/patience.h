/* SPDX-License-Identifier: BSD-2-Clause */
/* How long a test waits for what never comes: minutes, which a busy machine does not need for what comes. */
#ifndef GPUMEMTRACE_TESTS_PATIENCE_H
#define GPUMEMTRACE_TESTS_PATIENCE_H

#define PATIENCE 300 /* seconds, for alarm(2) */

#endif
