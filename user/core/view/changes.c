/* SPDX-License-Identifier: BSD-2-Clause */
/* What came and went in the last part of a history: see oom_view.h. */
#include "core/history/history.h"
#include "core/ledger/process.h"
#include "core/view/oom_view.h"

static void count_event(struct history_changes *c, const struct history_event *e)
{
	bool is_block = e->kind == GMT_HISTORY_BLOCK_ALLOC || e->kind == GMT_HISTORY_BLOCK_FREE;
	struct history_change *change = is_block ? &c->blocks : &c->segments;

	if (e->kind == GMT_HISTORY_BLOCK_ALLOC || e->kind == GMT_HISTORY_SEGMENT_ALLOC) {
		change->allocs++;
		change->alloc_bytes += e->size;
	} else if (e->kind == GMT_HISTORY_BLOCK_FREE || e->kind == GMT_HISTORY_SEGMENT_FREE) {
		change->frees++;
		change->freed_bytes += e->size;
	}
}

void history_changes(const struct history *h, uint32_t tgid, uint64_t end, uint64_t until_ns, uint64_t span_ns,
		     struct history_changes *out)
{
	*out = (struct history_changes){ .until_ns = until_ns };
	for (uint64_t n = end; n-- > h->first;) {
		const struct history_event *e = history_event(h, n);
		const struct history_process *hp = &h->processes[e->process];

		if (e->ts_ns + span_ns < until_ns)
			break;
		if (n < hp->since || (tgid && hp->of->tgid != tgid))
			continue;
		out->since_ns = e->ts_ns;
		count_event(out, e);
	}
}
