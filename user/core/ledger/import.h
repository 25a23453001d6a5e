/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Imports that have an address. Importing the same memory again gives the same address: the import is one, but needs as
 * many releases as there were imports.
 */
#ifndef GPUMEMTRACE_CORE_LEDGER_IMPORT_H
#define GPUMEMTRACE_CORE_LEDGER_IMPORT_H

#include <stdbool.h>

struct event;

/* Counts an import at the first value. True: the first one there. */
bool import_opens(struct event *e);

#endif
