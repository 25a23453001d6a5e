// SPDX-License-Identifier: BSD-2-Clause
#include "core/pipeline/pipeline.h"

#include <stdlib.h>

#include "base/xalloc.h"
#include "core/framework/frameworks.h"
#include "core/history/history.h"
#include "core/history/instants.h"
#include "core/ledger/delta.h"
#include "core/ledger/ledger.h"
#include "core/lives/kept_lives.h"
#include "core/lives/lives.h"
#include "core/oom/oom_requests.h"
#include "core/timeline/timeline.h"

/* The observers, in the order in which they see a delta. Kinds are DELTA_BIT, or-ed. */
static const struct observer {
	size_t place;            /* of its pointer in struct pipeline */
	uint64_t wanted;         /* from the start */
	uint64_t wanted_later;   /* from when this or another observer adds the kinds to struct deltas */
	void (*see)(void *observer, const struct delta *delta);
} observers[] = {
	{ offsetof(struct pipeline, timeline), TIMELINE_END_DELTAS, 0, timeline_see_end },
	{ offsetof(struct pipeline, instants), INSTANTS_DUE_DELTAS, 0, instants_see_due },
	{ offsetof(struct pipeline, frameworks), FRAMEWORKS_DELTAS, FRAMEWORKS_MEMORY_DELTAS, frameworks_see },
	{ offsetof(struct pipeline, ooms), OOMS_DELTAS, 0, ooms_see },
	{ offsetof(struct pipeline, history), HISTORY_DELTAS, 0, history_see },
	{ offsetof(struct pipeline, instants), INSTANTS_DELTAS, 0, instants_see },
	{ offsetof(struct pipeline, timeline), TIMELINE_DELTAS, 0, timeline_see },
	{ offsetof(struct pipeline, lives), LIVES_DELTAS, 0, lives_see },
};
/* Frameworks make these deltas from FRAMEWORKS_MEMORY_DELTAS. */
#define SEGMENT_DELTAS \
	(DELTA_BIT(DELTA_SEGMENT_ALLOC) | DELTA_BIT(DELTA_SEGMENT_FREE) | DELTA_BIT(DELTA_SEGMENT_BACK))
#define OBSERVERS (sizeof(observers) / sizeof(observers[0]))

static void *observer_of(const struct pipeline *pl, size_t index)
{
	return *(void *const *)((const char *)pl + observers[index].place);
}

static void show_delta(void *arg, const struct delta *delta)
{
	for (size_t i = 0; i < OBSERVERS; i++) {
		void *observer = observer_of(arg, i);

		if (observer && (observers[i].wanted | observers[i].wanted_later) & DELTA_BIT(delta->kind))
			observers[i].see(observer, delta);
	}
}

static void want_deltas(struct pipeline *pl)
{
	struct deltas *out = ledger_deltas(pl->ledger);

	for (size_t i = 0; i < OBSERVERS; i++)
		out->wanted |= observer_of(pl, i) ? observers[i].wanted : 0;
	if (out->wanted & SEGMENT_DELTAS)
		out->wanted |= FRAMEWORKS_MEMORY_DELTAS;
}

void pipeline_tell(struct pipeline *pl, const struct life_taker *taker)
{
	if (!pl->lives)
		pl->lives = lives_new(pl->ledger, pl->frameworks);
	lives_tell(pl->lives, taker);
	want_deltas(pl);
}

struct pipeline *pipeline_new(const struct pipeline_options *options)
{
	static const struct pipeline_options none;
	struct pipeline *pl = xcalloc(1, sizeof(*pl));
	struct deltas *out;

	options = options ? options : &none;
	pl->ledger = ledger_new();
	out = ledger_deltas(pl->ledger);
	pl->frameworks = frameworks_new(out);
	if (options->watches_requests || options->history_events)
		pl->ooms = ooms_new(pl->ledger, pl->frameworks, out);
	if (options->history_events) {
		pl->history = history_new(pl->ledger, pl->frameworks, options->history_events);
		pl->history->span_ns = options->history_ns;
		pl->history->keeps_ended = options->keeps_ended;
		pl->history->is_of_dumps = options->history_of_dumps;
	}
	if (options->timeline_points)
		pl->timeline = timeline_new(pl->frameworks, ledger_frames(pl->ledger), options->timeline_points);
	if (options->keeps_instants)
		pl->instants = instants_new(pl->frameworks);
	if (options->keeps_lives) {
		pl->kept_lives = kept_lives_new(options->keeps_all_lives);
		pipeline_tell(pl, kept_lives_taker(pl->kept_lives));
	}
	want_deltas(pl);
	out->see = show_delta;
	out->arg = pl;
	return pl;
}

void pipeline_free(struct pipeline *pl)
{
	if (!pl)
		return;
	timeline_free(pl->timeline);
	lives_free(pl->lives);
	kept_lives_free(pl->kept_lives);
	history_free(pl->history);
	instants_free(pl->instants);
	ooms_free(pl->ooms);
	frameworks_free(pl->frameworks);
	ledger_free(pl->ledger);
	free(pl);
}

int pipeline_apply(struct pipeline *pl, const void *record, size_t size)
{
	return ledger_apply(pl->ledger, record, size);
}
