/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ledger: live and peak memory per process and GPU, a pure function of the records. No I/O, no clock, no /proc:
 * time comes from the records alone, so a recording gives the same state on any machine. Records that contradict each
 * other are counted (view.h); no sum hides them or becomes negative.
 */
#ifndef GPUMEMTRACE_CORE_LEDGER_LEDGER_H
#define GPUMEMTRACE_CORE_LEDGER_LEDGER_H

#include <stddef.h>
#include <stdint.h>

struct deltas;
struct frames;
struct gpus;
struct ledger;

struct ledger *ledger_new(void);      /* ends the program when memory runs out (xalloc.h), as all _new do */
void ledger_free(struct ledger *ledger);

/* Applies one record of `size` bytes. 0; -EINVAL: malformed, counted and otherwise ignored. */
int ledger_apply(struct ledger *ledger, const void *record, size_t size);

/* The observers of the ledger's deltas (delta.h): none at first. */
struct deltas *ledger_deltas(struct ledger *ledger);

/* The stacks in words, for as long as the ledger lives. */
const struct frames *ledger_frames(const struct ledger *ledger);
/* The GPUs by number, likewise. */
const struct gpus *ledger_gpus(const struct ledger *ledger);

/* CLOCK_REALTIME at CLOCK_MONOTONIC 0; 0 without a session record. */
int64_t ledger_wall_ns(const struct ledger *ledger);

#endif
