/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Answers for a view whose memory a stack is, by the rules of owners (symbol/owners.h). Each frame and
 * each stack is looked at once: symbols and numbers of stacks never change in a ledger, so one of these
 * serves one ledger.
 */
#ifndef GPUMEMTRACE_ATTRIBUTION_H
#define GPUMEMTRACE_ATTRIBUTION_H

#include <stddef.h>

#include "core/account/view_stacks.h"

struct attribution;
struct options;

/* With the files of the options, then the standard ones. NULL: a file is not there or not well-formed, and a
 * sentence about it in `why`. */
struct attribution *attribution_new(const struct options *options, char *why, size_t why_size);
void attribution_free(struct attribution *attribution);

/* The part of a request that is about owners; NULL leaves it out. */
void attribution_ask(struct attribution *attribution, struct view_request *request);

#endif
