/* SPDX-License-Identifier: BSD-2-Clause */
/* What a ledger holds: written in this room, read by observers and views, nobody else's business. */
#ifndef GPUMEMTRACE_CORE_LEDGER_LEDGER_STATE_H
#define GPUMEMTRACE_CORE_LEDGER_LEDGER_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

#include "core/terms/frames.h"
#include "core/terms/gpus.h"
#include "core/terms/limits.h"
#include "core/ledger/delta.h"
#include "core/ledger/process.h"

struct ledger {
	struct processes processes;
	struct gpus gpus;
	struct frames frames;
	struct hash stack_ends;  /* stack id -> how its walk ended */
	struct gmt_session session; /* hdr.size 0: there was no session record */
	struct gmt_library *libraries;
	size_t library_count;
	struct limits limits;
	uint64_t start_ns, now_ns;
	uint64_t records, records_unknown, records_malformed;
	uint64_t loss[GMT_LOSS_COUNT];
	uint32_t end_reason;
	uint32_t marks;          /* windows that were asked for, and the newest */
	uint64_t mark_ns;
	struct deltas out;
};

#endif
