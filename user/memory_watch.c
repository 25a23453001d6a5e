// SPDX-License-Identifier: BSD-2-Clause
#include "memory_watch.h"

#include <malloc.h>
#include <stdio.h>

#include "base/human.h"
#include "cli/cli.h"
#include "core/terms/names.h"
#include "live/process/own_memory.h"
#include "live/stacks/bpf_tables.h"
#include "live/stacks/stack_thread.h"
#include "parse/parser.h"
#include "setup.h"

#define LOOK_NS 100000000ULL         /* between two measurements: a thread can fill some MiB in between */
#define RECORD_NS 10000000000ULL     /* between two records, if nothing has happened */
#define REST_NS 1000000000ULL        /* between two ends of readers, which may be needed again at once */
#define MAPS_NS 60000000000ULL       /* between two looks at all descriptors */

/* From how much of the bound on a step is taken, in percent. */
static const unsigned int from_percent[GMT_SHED_COUNT] = {
	[GMT_SHED_READERS] = 70,
	[GMT_SHED_STACKS] = 80,
	[GMT_SHED_EVENTS] = 87,
	[GMT_SHED_NAMES] = 94,
};

static uint64_t held_now(const struct memory_watch *watch)
{
	return watch->newest.tracer_bytes + watch->newest.readers_bytes;
}

static void measure_now(struct session *session)
{
	struct memory_watch *watch = &session->memory;
	struct own_memory own;

	own_memory_read(parser_keeper(session->parser), &own);
	watch->newest.tracer_bytes = own.tracer;
	watch->newest.readers_bytes = own.readers;
	if (held_now(watch) > watch->newest.most_bytes)
		watch->newest.most_bytes = held_now(watch);
}

static void put_memory(struct session *session, uint64_t now_ns)
{
	struct memory_watch *watch = &session->memory;
	struct tables_stats stats;
	struct gmt_memory rec;

	if (now_ns >= watch->next_maps_ns) {
		watch->next_maps_ns = now_ns + MAPS_NS;
		watch->open_maps = own_memory_maps();
	}
	stacking_stats(session->stacking, &stats);
	watch->newest.maps_bytes = watch->open_maps ? watch->open_maps + stats.map_bytes : 0;
	watch->newest.bound_bytes = session->options->memory_bytes;
	watch->next_record_ns = now_ns + RECORD_NS;
	rec = watch->newest;
	STREAM_PUT(&session->stream, &rec, MEMORY, 0);
}

static bool memory_is_above(const struct session *session, uint64_t bytes, unsigned int percent)
{
	return bytes >= session->options->memory_bytes / 100 * percent;
}

/* Readers give way first. What they hold is no reason to give up anything else: a file could make them hold much. */
static bool is_due(const struct session *session, unsigned int step)
{
	const struct memory_watch *watch = &session->memory;

	return memory_is_above(session, step == GMT_SHED_READERS ? held_now(watch) : watch->newest.tracer_bytes,
			       from_percent[step]);
}

/* Readers are no loss, so nobody has to hear of them. */
static void tell_step(struct session *session, enum gmt_shed step, uint64_t held)
{
	struct gmt_limit rec = { .remedy = "Give gpumemtrace more memory (--memory)" };

	if (step == GMT_SHED_READERS)
		return;
	snprintf((char *)rec.what, sizeof(rec.what), "%s were given up", gmt_shed_text(step));
	snprintf((char *)rec.why, sizeof(rec.why), "from +%.3f s on, gpumemtrace's own memory was %s of at most %s",
		 (double)(stream_now_ns() - session->start_ns) / 1e9, human_bytes(held).s,
		 human_bytes(session->options->memory_bytes).s);
	session_limit(session, &rec);
}

static void take_step(struct session *session, uint64_t now_ns)
{
	struct memory_watch *watch = &session->memory;
	uint64_t held = held_now(watch);

	watch->newest.shed++;
	stacking_shed(session->stacking, watch->newest.shed);
	put_memory(session, now_ns);
	tell_step(session, watch->newest.shed, held);
	malloc_trim(0);
	measure_now(session);
}

/* Readers that were started again after the first step end again. */
static void rest_readers(struct session *session, uint64_t now_ns)
{
	struct memory_watch *watch = &session->memory;

	if (watch->newest.shed < GMT_SHED_READERS || now_ns < watch->next_rest_ns ||
	    !is_due(session, GMT_SHED_READERS))
		return;
	watch->next_rest_ns = now_ns + REST_NS;
	stacking_shed(session->stacking, GMT_SHED_READERS);
}

bool memory_look(struct session *session, uint64_t now_ns)
{
	struct memory_watch *watch = &session->memory;
	struct gmt_limit rec = {
		.what = "the tracing ended early", .remedy = "Give gpumemtrace more memory (--memory)",
	};

	if (now_ns < watch->next_ns)
		return true;
	watch->next_ns = now_ns + LOOK_NS;
	measure_now(session);
	rest_readers(session, now_ns);
	while (watch->newest.shed + 1 < GMT_SHED_COUNT && is_due(session, watch->newest.shed + 1))
		take_step(session, now_ns);
	/* They end at their next rest. Until then one of them may still be at work on a file. */
	if (memory_is_above(session, held_now(watch), 100))
		parser_kill_workers(session->parser);
	if (now_ns >= watch->next_record_ns)
		put_memory(session, now_ns);
	if (!memory_is_above(session, watch->newest.tracer_bytes, 100))
		return true;
	snprintf((char *)rec.why, sizeof(rec.why),
		 "the live allocations alone take gpumemtrace %s of memory, which is the most that it may have",
		 human_bytes(session->options->memory_bytes).s);
	session_limit(session, &rec);
	return false;
}

void memory_end(struct session *session)
{
	measure_now(session);
	put_memory(session, stream_now_ns());
}
