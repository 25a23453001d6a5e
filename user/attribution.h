/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells a view who owns the memory of a stack, by the rules of symbol/owners.h. Each symbol and each stack is judged
 * once. The numbers of symbols and stacks belong to one ledger, so an attribution serves one ledger at a time.
 */
#ifndef GPUMEMTRACE_ATTRIBUTION_H
#define GPUMEMTRACE_ATTRIBUTION_H

#include <stddef.h>

#include "core/account/view_stacks.h"

struct attribution;
struct options;

/* Reads the files that the options name, then the standard ones. NULL: a file is missing or malformed, and `why` gets a
 * sentence about it. */
struct attribution *attribution_new(const struct options *options, char *why, size_t why_size);
void attribution_free(struct attribution *attribution);

/* The attribution serves another ledger from now on: forgets the answers about the ledger before, and keeps the rules,
 * whose files cannot all be read twice (a pipe). */
void attribution_renew(struct attribution *attribution);

/* Fills in the part of a request that is about owners. */
void attribution_ask(struct attribution *attribution, struct view_request *request);

#endif
