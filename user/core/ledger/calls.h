/* SPDX-License-Identifier: BSD-2-Clause */
/* Call records: which operation each one is, and who is to do it. */
#ifndef GPUMEMTRACE_CORE_LEDGER_CALLS_H
#define GPUMEMTRACE_CORE_LEDGER_CALLS_H

#include <gpumemtrace/wire.h>

struct process;

/* Applies a record of kind CALL, at least of its structure's size. 0; -EINVAL: malformed; -ENOENT: an
 * entry point that this version does not know. */
int calls_apply(struct process *p, const struct gmt_hdr *hdr);

#endif
