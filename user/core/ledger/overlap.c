/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/ledger/overlap.h"

#include <stdlib.h>

#include "base/xalloc.h"
#include "core/ledger/alloc.h"
#include "core/ledger/process.h"
#include "core/ledger/vmm_object.h"

/* An allocation or a mapping. */
struct span {
	uint64_t base, end;
	uint64_t ts_ns;
	bool is_mapping;
};

struct spans {
	struct span *list;
	size_t count;
	bool is_sorted;
};

static void add_span(struct spans *spans, uint64_t base, uint64_t size, uint64_t ts_ns, bool is_mapping)
{
	if (!alloc_is_place(base, size))
		return;
	if (spans->count && base < spans->list[spans->count - 1].base)
		spans->is_sorted = false;
	spans->list[spans->count++] = (struct span){ base, base + size, ts_ns, is_mapping };
}

/* A graph may plan memory where other graphs have planned theirs. */
static void add_spans(const struct process *p, struct spans *spans)
{
	uint64_t address;
	size_t pos = 0;
	void *value;

	while (hash_next(&p->allocs.by_address, &pos, &address, &value)) {
		const struct alloc *a = value;

		if (a->class != GMT_CLASS_GRAPH)
			add_span(spans, address, a->size, a->ts_ns, false);
	}
	for (pos = 0; hash_next(&p->vmm.mappings, &pos, &address, &value);) {
		const struct vmm_mapping *m = value;

		add_span(spans, address, m->size, m->ts_ns, true);
	}
}

static int compare_spans(const void *left, const void *right)
{
	const struct span *a = left, *b = right;

	return (a->base > b->base) - (a->base < b->base);
}

static void displace_span(struct process *p, const struct span *old, uint64_t ts_ns)
{
	if (old->is_mapping)
		mapping_displace(p, old->base, ts_ns);
	else
		alloc_displace(p, old->base, ts_ns);
}

/* Keeps a list of spans that do not overlap, at the front of the sorted list. */
static void drop_older(struct process *p, const struct spans *spans, uint64_t ts_ns)
{
	struct span *list = spans->list;
	size_t kept = 0;

	for (size_t i = 0; i < spans->count; i++) {
		bool is_older = false;

		while (kept && list[kept - 1].end > list[i].base && !is_older) {
			is_older = list[i].ts_ns < list[kept - 1].ts_ns;
			if (!is_older)
				displace_span(p, &list[--kept], ts_ns);
		}
		if (is_older)
			displace_span(p, &list[i], ts_ns);
		else
			list[kept++] = list[i];
	}
}

void overlap_drop(struct process *p, uint64_t ts_ns)
{
	struct spans spans = { .is_sorted = true };
	size_t most = hash_count(&p->allocs.by_address) + hash_count(&p->vmm.mappings);

	if (most < 2)
		return;
	spans.list = xcalloc(most, sizeof(*spans.list));
	add_spans(p, &spans);
	if (!spans.is_sorted)
		qsort(spans.list, spans.count, sizeof(*spans.list), compare_spans);
	drop_older(p, &spans, ts_ns);
	free(spans.list);
}

bool overlap_is_likely(const struct process *p, bool has_loss)
{
	/* After a late attach, frees of what is not known are no sign. */
	return has_loss || p->anomalies[GMT_ANOMALY_DOUBLE_ALLOC] || p->anomalies[GMT_ANOMALY_UNDO_UNKNOWN] ||
	       (p->from_start && p->anomalies[GMT_ANOMALY_FREE_UNKNOWN]);
}
