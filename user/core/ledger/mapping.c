/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/ledger/mapping.h"

#include "core/ledger/books.h"
#include "core/ledger/process.h"
#include "core/ledger/vmm_object.h"

void mapping_book(const struct process *p, enum delta_kind kind, uint64_t address, uint64_t size,
		  const struct vmm_object *o, uint64_t ts_ns)
{
	struct delta_place place = { .address = address, .length = size, .ordinal = ORDINAL_NONE };

	place.booking = (struct booking){ .class = CLASS_NONE, .ts_ns = ts_ns };
	if (o) {
		place.booking = vmm_booking(o, ts_ns);
		place.born_ns = o->ts_ns;
		place.ordinal = o->ordinal;
	}
	book_place(p, kind, &place);
}

void mapping_remove(struct process *p, uint64_t address, const struct vmm_mapping *m, uint64_t ts_ns)
{
	struct vmm_object *o = hash_get(&p->vmm.objects, m->object);

	hash_erase(&p->vmm.mappings, address);
	mapping_book(p, DELTA_UNMAP, address, m->size, o, ts_ns);
	if (!o)
		return;
	o->maps--;
	vmm_drop_if_unused(p, m->object, ts_ns);
}

void mapping_displace(struct process *p, uint64_t address, uint64_t ts_ns)
{
	const struct vmm_mapping *found = hash_get(&p->vmm.mappings, address);

	if (!found)
		return;
	struct vmm_mapping missed = *found;

	p->anomalies[GMT_ANOMALY_DOUBLE_ALLOC]++;
	mapping_remove(p, address, &missed, ts_ns);
}
