/* SPDX-License-Identifier: BSD-2-Clause */
/* What a ledger holds. Only the files beside this one write these members; observers and views read them. */
#ifndef GPUMEMTRACE_CORE_LEDGER_LEDGER_STATE_H
#define GPUMEMTRACE_CORE_LEDGER_LEDGER_STATE_H

#include <stdint.h>

#include <gpumemtrace/wire.h>

#include "core/terms/frames.h"
#include "core/terms/gpus.h"
#include "core/terms/libraries.h"
#include "core/terms/limits.h"
#include "core/ledger/delta.h"
#include "core/ledger/process.h"
#include "core/ledger/stack_ends.h"

struct ledger {
	struct processes processes;
	struct gpus gpus;
	struct frames frames;
	struct stack_ends stack_ends;
	struct gmt_session session; /* hdr.size 0: there was no session record */
	struct libraries libraries;
	struct limits limits;
	struct gmt_memory memory;   /* hdr.size 0: nothing was said of it */
	uint64_t start_ns, now_ns;
	uint64_t records, records_unknown, records_malformed;
	uint64_t loss[GMT_LOSS_COUNT];
	bool has_loss;
	uint32_t end_reason;
	uint32_t marks;          /* windows that somebody asked for */
	uint64_t mark_ns;        /* when the newest one began */
	struct deltas out;
};

#endif
