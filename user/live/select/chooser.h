/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks on the terminal which of several processes are meant. */
#ifndef GPUMEMTRACE_LIVE_SELECT_CHOOSER_H
#define GPUMEMTRACE_LIVE_SELECT_CHOOSER_H

#include <stdbool.h>
#include <stddef.h>

struct find_process;

/* Whether there is somebody to ask. */
bool chooser_has_terminal(void);

/* Shows the processes, with numbers, and reads numbers or "a" (all). 0; -EINVAL: nothing was
 * chosen. */
int chooser_ask(const char *name, const struct find_process *list, size_t count, bool *chosen);

#endif
