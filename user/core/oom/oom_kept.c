// SPDX-License-Identifier: BSD-2-Clause
#include "core/oom/oom_kept.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "core/oom/oom_copy.h"
#include "core/oom/oom_gpus.h"

struct oom_kept *ooms_kept(const struct ooms *o, uint64_t process)
{
	for (size_t i = 0; o && i < o->kept_count; i++)
		if (o->kept[i].process == process)
			return &o->kept[i];
	return NULL;
}

/* The others keep their order: the oldest is the first. */
static void drop_entry(struct ooms *o, struct oom_kept *kept)
{
	size_t after = (size_t)(o->kept + o->kept_count - (kept + 1));

	oom_free(kept->oom);
	memmove(kept, kept + 1, after * sizeof(*kept));
	o->kept_count--;
}

void ooms_drop_kept(struct ooms *o, uint64_t process)
{
	struct oom_kept *kept = ooms_kept(o, process);

	if (kept)
		drop_entry(o, kept);
}

/* The picture stays, and so do the moment and the flags that belong to it. */
static void update_entry(struct oom_kept *kept, const struct gmt_oom *rec)
{
	struct gmt_oom *to = &kept->oom->rec;
	struct gmt_hdr hdr = to->hdr;
	uint8_t unseen = to->flags & GMT_OOM_UNSEEN;

	*to = *rec;
	to->hdr = hdr;
	to->flags = (uint8_t)((rec->flags & ~GMT_OOM_UNSEEN) | unseen);
	kept->why.is_known = false;
}

void ooms_keep(struct ooms *o, uint64_t process, const struct oom *oom)
{
	bool has_failed = oom->rec.outcome == GMT_OOM_RAISED || oom->rec.outcome == GMT_OOM_FATAL;
	struct oom_kept *kept = ooms_kept(o, process), old = { 0 };
	bool is_same = kept && kept->oom->rec.number == oom->rec.number;

	if (has_failed && is_same && !oom->row_count) {
		update_entry(kept, &oom->rec);
		return;
	}
	if (kept && !is_same && (!has_failed || oom->rec.flags & GMT_OOM_UNSEEN))
		return;
	if (kept) {
		old = *kept;
		drop_entry(o, kept);
	}
	if (!has_failed)
		return;
	if (o->kept_count == OOM_KEPT)
		drop_entry(o, o->kept);
	if (!o->kept)
		o->kept = xcalloc(OOM_KEPT, sizeof(*o->kept));
	o->kept[o->kept_count++] = (struct oom_kept){
		.process = process, .oom = oom_copy(oom), .why = old.why, .why_ns = old.why_ns, .is_earlier = true,
	};
}

void ooms_free_kept(struct ooms *o)
{
	while (o->kept_count)
		drop_entry(o, o->kept);
	free(o->kept);
}
