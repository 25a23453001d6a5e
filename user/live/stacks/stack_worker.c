// SPDX-License-Identifier: BSD-2-Clause
#include "live/stacks/stack_worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/xalloc.h"
#include "base/hash.h"
#include "live/stacks/map_publisher.h"
#include "live/stacks/address_space.h"
#include "live/stacks/space_tables.h"
#include "live/stacks/copies.h"
#include "live/stacks/stack_needs.h"
#include "live/stacks/stack_worker_state.h"
#include "live/stacks/turns.h"
#include "live/stacks/walk_check.h"
#include "live/stream.h"
#include "live/stacks/bpf_tables.h"
#include "symbol/unwind/rewalk.h"

#define FORGET_NS 1000000000ULL         /* for the last tables of a process that starts another program */
#define LIST_PERIOD_NS 200000000ULL     /* between lists for BPF while tables are built */
#define PUBLISHING_NS 2000000ULL        /* between checks whether BPF has a list */
#define FORGOTTEN_MOST 64               /* processes in one step */
#define NAMING_NS 5000000ULL            /* for names in one go: other processes may have to be read */
#define NAMING_PART_NS 1000000ULL       /* ... of one process, before that of the user who was served least */

static void forget_worked(struct stackwork *work, uint32_t tgid);

static struct worked *process_of(struct stackwork *work, uint32_t tgid, bool make)
{
	struct worked **slot = hash_get(&work->processes, tgid), *worked;

	if (slot && !(make && ((*slot)->has_ended || worked_is_over(*slot))))
		return *slot;
	if (!make)
		return NULL;
	if (slot) /* its pid was given out again */
		forget_worked(work, tgid);
	worked = xcalloc(1, sizeof(*worked));
	space_init(&worked->space, tgid, work->client,
		   work->mode == GMT_STACKS_FULL || work->mode == GMT_STACKS_PYTHON);
	worked->due = DUE_NOW;
	worked->user = turns_user(tgid);
	*(struct worked **)hash_put(&work->processes, tgid, NULL) = worked;
	return worked;
}

static struct worked *next_worked(const struct stackwork *work, size_t *pos)
{
	void *value;

	return hash_next(&work->processes, pos, NULL, &value) ? *(struct worked **)value : NULL;
}

/* Walks a stack again with the present tables, and queues the result for its names. */
static void walk_again(struct stackwork *work, struct worked *worked, const struct gmt_stack *stack,
		       const struct gmt_stack_copy *const *pieces, size_t count)
{
	_Alignas(struct gmt_stack) unsigned char bytes[sizeof(*stack) + (GMT_STACK_WORDS + 1) * sizeof(__u64)];
	struct gmt_stack *walked = (void *)bytes;
	struct rewalk rewalk = {
		.mappings = worked->space.mappings,
		.mapping_count = (uint32_t)worked->space.modules.map_count,
		.word = tables_word,
		.arg = work->tables,
		.depth = work->depth,
	};

	rewalk_stack(&rewalk, stack, pieces, count, walked);
	walked->words[walked->count] = walk_moment(stack);
	walked->hdr.size = (uint16_t)(walked->hdr.size + sizeof(__u64));
	walk_check(&worked->space, walked, true);
	work->calls.put(work->calls.arg, walked, walked->hdr.size);
	records_add(&worked->unnamed, walked, walked->hdr.size);
}

/* Moves the stacks that waited for tables to those that wait for names. */
static void end_waiting(struct stackwork *work, struct worked *worked)
{
	const struct gmt_stack_copy *pieces[GMT_STACK_COPY_PIECES];
	struct records waiting = worked->waiting;
	const struct gmt_stack *stack;
	size_t at = 0, count;

	worked->waiting = (struct records){ 0 };
	worked->waiting_ns = 0;
	while ((stack = records_next(&waiting, &at))) {
		if (stack->hdr.kind != GMT_KIND_STACK)
			continue;
		count = copies_take(&waiting, stack->id, pieces);
		if (count)
			walk_again(work, worked, stack, pieces, count);
		else
			records_add(&worked->unnamed, stack, stack->hdr.size);
	}
	copies_keep_early(&worked->waiting, &waiting);
	work->copies.bytes += copies_bytes(&worked->waiting) - copies_bytes(&waiting);
	free(waiting.bytes);
}

static void name_stacks(struct stackwork *work, struct worked *worked, uint64_t until_ns)
{
	turns_begin(&work->turns, worked->user);
	while (worked->named < worked->unnamed.used && stream_now_ns() < until_ns) {
		struct gmt_stack *stack = records_next(&worked->unnamed, &worked->named);
		bool is_changed = walk_check(&worked->space, stack, false);

		if (stack_lacks_python(&worked->space, stack)) {
			stack->py_reason = GMT_PY_END_UNRECOGNIZED;
			is_changed = true;
		}
		naming_stack(work->naming, &worked->space, stack, is_changed);
		work->waiting--;
		__atomic_add_fetch(&work->named, 1, __ATOMIC_RELAXED);
	}
	turns_end(&work->turns, worked->user);
	if (worked->named < worked->unnamed.used)
		return;
	free(worked->unnamed.bytes);
	worked->unnamed = (struct records){ 0 };
	worked->named = 0;
}

static void build_one(struct stackwork *work, struct worked *worked)
{
	const char *path;
	int err;

	turns_begin(&work->turns, worked->user);
	err = space_build_one(&worked->space, work->tables, &path);
	turns_end(&work->turns, worked->user);
	if (worked->space.postponed && worked->due == DUE_NOT)
		worked->due = DUE_SOON;
	if (parse_gave_up(err) && !(parse_may_pass(err) && worked->space.retries)) /* which was told at the first try */
		work->calls.refused(work->calls.arg, path, "stack traces end in this file", err,
				    parse_why(work->client, err));
}

static void forget_worked(struct stackwork *work, uint32_t tgid)
{
	uint64_t until_ns = stream_now_ns() + FORGET_NS;
	struct worked *worked;

	if (!hash_take(&work->processes, tgid, &worked))
		return;
	/* Missing tables can still be made if the process's files are ours, too. */
	while (worked->waiting_ns && worked->space.pending && stream_now_ns() < until_ns)
		build_one(work, worked);
	end_waiting(work, worked);
	name_stacks(work, worked, UINT64_MAX);
	work->copies.bytes -= copies_bytes(&worked->waiting);
	free(worked->waiting.bytes);
	space_fini(&worked->space, work->publisher);
	free(worked);
}

/* Gives BPF the news of a process, but new lists not too often while tables are built. */
static void publish_worked(struct stackwork *work, struct worked *worked, uint64_t now_ns)
{
	bool may_list = !worked->space.pending || now_ns - worked->listed_ns >= LIST_PERIOD_NS;
	bool was_listed = worked->space.is_listed;

	worked->is_stale = space_publish(&worked->space, work->publisher, may_list) == -EAGAIN;
	if (worked->space.is_listed && !was_listed)
		worked->listed_ns = now_ns;
}

static void lose_process(struct worked *worked)
{
	space_lose(&worked->space);
	worked->due = DUE_NOT;
	worked->is_stale = false;
}

static void end_process(struct stackwork *work, uint32_t tgid)
{
	struct worked *worked = process_of(work, tgid, false);

	if (!worked)
		return;
	lose_process(worked);
	worked->has_ended = true;
	if (!worked->waiting_ns && !worked->unnamed.used)
		forget_worked(work, tgid);
	else
		space_withdraw(&worked->space, work->publisher);
}

static void read_process(struct stackwork *work, struct worked *worked)
{
	bool was_refused = worked->space.python_state == SPACE_PYTHON_REFUSED;
	uint64_t now_ns = stream_now_ns();
	int changed;

	turns_begin(&work->turns, worked->user);
	changed = space_read(&worked->space, work->tables, work->publisher);
	turns_end(&work->turns, worked->user);
	space_retry_postponed(&worked->space);
	worked->read_ns = now_ns;
	worked->took_ns = stream_now_ns() - now_ns;
	if (!worked->first_ns) {
		worked->first_ns = worked->listed_ns = now_ns;
		work->unreadable += !space_may_open(&worked->space);
	}
	work->cut += worked->space.modules.left_out && !worked->is_cut;
	worked->is_cut |= worked->space.modules.left_out != 0;
	/* A Python that is starting up is read again, after the period of reading. */
	worked->due = changed >= 0 && worked->space.python_state == SPACE_PYTHON_UNKNOWN &&
		      worked->space.with_python ? DUE_SOON : DUE_NOT;
	if (worked->space.python_state == SPACE_PYTHON_REFUSED && !was_refused)
		work->calls.say(work->calls.arg, worked->space.tgid, worked->space.python.why);
	if (changed < 0)
		lose_process(worked);
	else if (changed || !worked->space.is_told)
		publish_worked(work, worked, now_ns);
}

static void name_stack(struct stackwork *work, const struct gmt_stack *stack)
{
	struct worked *worked = process_of(work, stack->hdr.tgid, true);
	struct space *space = &worked->space;

	if (!space->modules.map_count && !space->is_gone)
		read_process(work, worked);
	else if (!space->is_gone && space_is_lost(space))
		lose_process(worked);
	work->waiting++;
	naming_python(work->naming, space, stack);
	if (!stack_wants_tables(work->mode, stack)) {
		if (!space->is_gone && stack_is_beyond(space, stack) &&
		    stream_now_ns() - worked->read_ns > worked_period(worked))
			read_process(work, worked);
		records_add(&worked->unnamed, stack, stack->hdr.size);
		return;
	}
	records_add(&worked->waiting, stack, stack->hdr.size);
	worked->waiting_ns = stack->hdr.ts_ns;
	if (worked->due == DUE_NOT && !space->is_gone)
		worked->due = DUE_SOON;
}

/* After an exec all mappings are new, unless they were read since. */
static void start_program(struct stackwork *work, const struct gmt_hdr *hdr)
{
	struct worked *worked = process_of(work, hdr->tgid, false);

	if (!worked || worked->read_ns > hdr->ts_ns)
		return;
	forget_worked(work, hdr->tgid);
	process_of(work, hdr->tgid, true);
}

/* Code without a file in the place of code without a file needs no reading: programs that compile at run time map such
 * code all the time. */
static void see_mapped(struct stackwork *work, const struct gmt_code_mapped *mapped)
{
	struct worked *worked = process_of(work, mapped->hdr.tgid, false);
	struct module_map *map;

	if (!worked)
		return;
	code_events_add(&worked->space.events, mapped);
	map = modules_find(&worked->space.modules, mapped->start);
	if (worked->due == DUE_NOT && !worked->space.is_gone && (mapped->has_file ||
	    (map && modules_of(&worked->space.modules, map)->kind != MODULE_ANONYMOUS)))
		worked->due = DUE_SOON;
}

static void wait_with_copy(struct stackwork *work, const struct gmt_hdr *hdr)
{
	if (copies_admit(&work->copies, (const void *)hdr))
		records_add(&process_of(work, hdr->tgid, true)->waiting, hdr, hdr->size);
}

static void work_on_record(struct stackwork *work, const struct gmt_hdr *hdr)
{
	switch (hdr->kind) {
	case GMT_KIND_STACK:
		name_stack(work, (const void *)hdr);
		break;
	case GMT_KIND_STACK_COPY:
		wait_with_copy(work, hdr);
		break;
	case GMT_KIND_CODE_MAPPED:
		see_mapped(work, (const void *)hdr);
		break;
	case GMT_KIND_PROC_EXIT:
		publisher_ended(work->publisher, hdr->tgid);
		end_process(work, hdr->tgid);
		break;
	case GMT_KIND_PROC_EXEC:
		start_program(work, hdr);
		break;
	}
}

void stackwork_take(struct stackwork *work, const struct records *records)
{
	const struct gmt_hdr *hdr;
	size_t at = 0;

	while ((hdr = records_next(records, &at)))
		work_on_record(work, hdr);
}

/* Reads a process if that is due. Returns how long no reading is due. */
static uint64_t read_if_due(struct stackwork *work, struct worked *worked)
{
	uint64_t now_ns = stream_now_ns(), due_ns = worked->read_ns + worked_period(worked);

	if (!worked->due || worked->space.is_gone)
		return STACKWORK_IDLE_NS;
	if (worked->due == DUE_SOON && due_ns > now_ns)
		return due_ns - now_ns < STACKWORK_IDLE_NS ? due_ns - now_ns : STACKWORK_IDLE_NS;
	read_process(work, worked);
	return worked->due ? worked_period(worked) : STACKWORK_IDLE_NS;
}

/* Builds a table, gives BPF the news, and walks the waiting stacks again. */
static void build_and_tell(struct stackwork *work, struct worked *worked)
{
	struct space *space = &worked->space;

	if (space->pending) {
		worked->built_ns = stream_now_ns();
		build_one(work, worked);
		worked->is_stale = !space->is_gone;
	}
	if (worked->is_stale)
		publish_worked(work, worked, stream_now_ns());
	if (worked->waiting_ns && !space->pending && !worked_awaits_events(worked) &&
	    (space->is_gone || worked->read_ns > worked->waiting_ns))
		end_waiting(work, worked);
}

/* The one of two whose user was served less, and of one user's the one that has waited longer. `a` may be NULL. */
static struct worked *less_served(const struct stackwork *work, struct worked *a, struct worked *b)
{
	uint64_t left = a ? turns_spent(&work->turns, a->user) : UINT64_MAX, right = turns_spent(&work->turns, b->user);

	if (!a || left != right)
		return left < right ? a : b;
	return a->built_ns <= b->built_ns ? a : b;
}

/* Names stacks for a while. True: stacks are left, or a process waits to be forgotten. */
static bool name_some(struct stackwork *work)
{
	uint64_t until_ns = stream_now_ns() + NAMING_NS;
	struct worked *worked, *next;
	bool has_ended = false;
	size_t pos;

	do {
		next = NULL;
		for (pos = 0; (worked = next_worked(work, &pos));)
			if (worked->unnamed.used && !worked_awaits_events(worked))
				next = less_served(work, next, worked);
		if (!next)
			return has_ended;
		name_stacks(work, next, stream_now_ns() + NAMING_PART_NS);
		has_ended |= next->has_ended;
	} while (stream_now_ns() < until_ns);
	return true;
}

uint64_t stackwork_step(struct stackwork *work)
{
	struct worked *busy = NULL, *ended[FORGOTTEN_MOST], *worked;
	size_t ended_count = 0;
	uint64_t wait_ns = STACKWORK_IDLE_NS;
	size_t pos = 0;

	while ((worked = next_worked(work, &pos))) {
		uint64_t idle_ns = read_if_due(work, worked);

		if (worked_is_lost(worked))
			lose_process(worked);
		if (idle_ns < wait_ns)
			wait_ns = idle_ns;
		if (worked->space.pending)
			busy = less_served(work, busy, worked); /* one table at a time */
		else
			build_and_tell(work, worked);
		if ((worked->is_stale || worked_awaits_events(worked)) && wait_ns > PUBLISHING_NS)
			wait_ns = PUBLISHING_NS;
		if ((worked->has_ended || worked_is_over(worked)) && !worked->waiting_ns && !worked->unnamed.used &&
		    ended_count < FORGOTTEN_MOST)
			ended[ended_count++] = worked;
	}
	if (busy)
		build_and_tell(work, busy);
	for (size_t i = 0; i < ended_count; i++) {
		uint32_t tgid = ended[i]->space.tgid;

		if (!ended[i]->has_ended) { /* the record of its end is lost, or there is none */
			publisher_ended(work->publisher, tgid);
			work->calls.forgotten(work->calls.arg, tgid);
		}
		forget_worked(work, tgid);
	}
	if (name_some(work))
		wait_ns = 0;
	return busy || ended_count ? 0 : wait_ns;
}

void stackwork_mark(struct stackwork *work, uint32_t tgid, enum stackwork_due due)
{
	struct worked *worked = process_of(work, tgid, true);

	if (worked->due < due && !worked->space.is_gone)
		worked->due = due;
}

void stackwork_shed(struct stackwork *work, enum gmt_shed step)
{
	parse_client_rest(work->client);
	if (step >= GMT_SHED_NAMES)
		naming_forget(work->naming);
}

void stackwork_stats(const struct stackwork *work, struct tables_stats *stats)
{
	tables_stats(work->tables, stats);
	stats->map_bytes = publisher_bytes(work->publisher);
	stats->unreadable = work->unreadable;
	stats->cut = work->cut;
	stats->cut_stacks = work->copies.cut;
	stats->refusal = publisher_refusal(work->publisher);
}

size_t stackwork_waiting(const struct stackwork *work)
{
	return work->waiting;
}

uint64_t stackwork_named(const struct stackwork *work)
{
	return __atomic_load_n(&work->named, __ATOMIC_RELAXED);
}

static void pass_names(void *arg, const void *record, size_t size)
{
	const struct stackwork *work = arg;

	work->calls.put(work->calls.arg, record, size);
}

static void refuse_names(void *arg, const char *path, int err)
{
	const struct stackwork *work = arg;

	work->calls.refused(work->calls.arg, path, "frames in this file have no names", err,
			    parse_why(work->client, err));
}

struct stackwork *stackwork_new(const struct stacking_options *options, const struct stackwork_calls *calls)
{
	struct stackwork *work = xcalloc(1, sizeof(*work));

	*work = (struct stackwork){ .mode = options->mode, .depth = options->depth, .calls = *calls };
	hash_init(&work->processes, sizeof(struct worked *));
	work->client = parse_client_new(options->parser);
	turns_init(&work->turns, work->client);
	work->publisher = publisher_new(&options->maps);
	work->tables = tables_new(work->publisher, work->client, options->cache);
	work->naming = naming_new(work->client, pass_names, refuse_names, work);
	return work;
}

void stackwork_free(struct stackwork *work)
{
	struct worked *worked;
	size_t pos = 0;

	if (!work)
		return;
	while ((worked = next_worked(work, &pos))) {
		space_fini(&worked->space, work->publisher);
		free(worked->waiting.bytes);
		free(worked->unnamed.bytes);
		free(worked);
	}
	publisher_free(work->publisher);
	naming_free(work->naming);
	tables_free(work->tables);
	parse_client_free(work->client);
	turns_fini(&work->turns);
	hash_fini(&work->processes);
	free(work);
}
