/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a row adds up: physical bytes by purpose, beside the bytes that calls asked for, and beside NVML's number. The
 * one invariant: without the residual, the members of a view_sum sum to what the row is known to hold; with the
 * residual, the members sum to NVML's number of the same moment.
 */
#ifndef GPUMEMTRACE_CORE_LEDGER_BALANCE_H
#define GPUMEMTRACE_CORE_LEDGER_BALANCE_H

#include "core/ledger/process.h"

/* The kernel's bytes of a row; all zero without the kernel layer. */
void balance_physical(const struct process *p, const struct row *row, struct rm_physical *out);

/* The row as it is now, without a residual. */
void balance_sum(const struct process *p, const struct row *row, struct view_sum *sum);

/* Freed kernel objects from before the attach that may have been the row's. */
uint64_t balance_before_frees(const struct process *p, const struct row *row);

#endif
