// SPDX-License-Identifier: BSD-2-Clause
/*
 * See stacking.h. One lock guards what both threads touch: the two buffers of records and the set of
 * processes. The worker takes all that came at once, and works without the lock.
 *
 * Order of its work: names first, as a process may end and take its Python objects along; then what
 * processes have mapped; tables last, one at a time, so that names do not wait for them.
 */
#include "live/stacking.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "live/naming.h"
#include "live/space.h"
#include "live/stream.h"
#include "live/tables.h"
#include "symbol/rewalk.h"

/* How often a process that maps one library after the other is read: often while it is young. */
#define READ_PERIOD_NS 50000000ULL
#define READ_PERIOD_YOUNG_NS 1000000ULL
#define PUBLISH_PERIOD_NS 200000000ULL  /* and BPF told so often while tables are built */
#define COPY_KEPT_NS 1000000000ULL      /* how long a copy waits for its stack */
#define IDLE_NS 1000000000ULL

/* Records one behind the other. */
struct records {
	unsigned char *bytes;
	size_t used, capacity;
};

enum due { DUE_NOT, DUE_SOON, DUE_NOW };

/* The worker's view of a process. */
struct worked {
	struct space space;
	enum due due;                /* it may have mapped something */
	uint64_t first_ns;           /* when it was read first */
	uint64_t read_ns;            /* ... and last */
	uint64_t published_ns;
	bool is_stale;               /* BPF does not know all tables that there are */
	struct records waiting;      /* STACK and STACK_COPY, until there are tables for them */
	uint64_t waiting_ns;         /* when the newest stack of them was taken; 0: there is none */
};

struct stacking {
	enum gmt_stack_mode mode;
	pthread_t thread;
	bool has_thread;
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	/* under the lock */
	struct records in, out;
	struct hash known;           /* tgid -> enum due */
	bool is_busy, is_ending;
	/* the worker's */
	struct hash processes;       /* tgid -> struct worked * */
	struct space_maps maps;
	struct tables *tables;
	struct naming *naming;
	size_t waiting;              /* stacks */
};

static void records_add(struct records *records, const void *record, size_t size)
{
	if (records->capacity - records->used < size) {
		records->capacity = (records->used + size) * 2;
		records->bytes = xrealloc(records->bytes, records->capacity);
	}
	memcpy(records->bytes + records->used, record, size);
	records->used += size;
}

/* ---- the worker ---- */

static void put_out(void *arg, const void *record, size_t size)
{
	struct stacking *stacking = arg;

	pthread_mutex_lock(&stacking->lock);
	records_add(&stacking->out, record, size);
	pthread_mutex_unlock(&stacking->lock);
}

static struct worked *process_of(struct stacking *stacking, uint32_t tgid, bool make)
{
	struct worked **slot = hash_get(&stacking->processes, tgid), *worked;

	if (slot)
		return *slot;
	if (!make)
		return NULL;
	worked = xcalloc(1, sizeof(*worked));
	space_init(&worked->space, tgid, stacking->mode == GMT_STACKS_FULL || stacking->mode == GMT_STACKS_PYTHON);
	worked->due = DUE_NOW;
	*(struct worked **)hash_put(&stacking->processes, tgid, NULL) = worked;
	return worked;
}

/* Walks a stack again, with the tables that there are now, and names what comes out. */
static void walk_again(struct stacking *stacking, struct worked *worked, const struct gmt_stack *stack,
		       const struct gmt_stack_copy *copy)
{
	_Alignas(struct gmt_stack) unsigned char bytes[sizeof(*stack) + GMT_STACK_WORDS * sizeof(__u64)];
	struct gmt_stack *walked = (void *)bytes;
	struct rewalk rewalk = {
		.mappings = worked->space.mappings,
		.mapping_count = (uint32_t)worked->space.modules.map_count,
		.word = tables_word,
		.arg = stacking->tables,
	};

	rewalk_stack(&rewalk, stack, copy, walked);
	put_out(stacking, walked, walked->hdr.size);
	naming_stack(stacking->naming, &worked->space, walked);
}

/* The copy of a stack's memory, which has come before it; NULL: there is none. Given out once. */
static const struct gmt_stack_copy *take_copy(struct records *waiting, uint32_t stack_id)
{
	for (size_t at = 0; at < waiting->used;) {
		struct gmt_stack_copy *copy = (void *)(waiting->bytes + at);

		at += copy->hdr.size;
		if (copy->hdr.kind == GMT_KIND_STACK_COPY && copy->stack_id == stack_id && copy->count) {
			copy->stack_id = 0;
			return copy;
		}
	}
	return NULL;
}

/* Copies whose stacks are still in the ring, or were lost there. */
static void keep_early_copies(struct worked *worked, const struct records *waiting)
{
	uint64_t now_ns = stream_now_ns();

	for (size_t at = 0; at < waiting->used;) {
		const struct gmt_stack_copy *copy = (const void *)(waiting->bytes + at);

		at += copy->hdr.size;
		if (copy->hdr.kind == GMT_KIND_STACK_COPY && copy->stack_id &&
		    now_ns - copy->hdr.ts_ns < COPY_KEPT_NS)
			records_add(&worked->waiting, copy, copy->hdr.size);
	}
}

static void name_waiting(struct stacking *stacking, struct worked *worked)
{
	struct records waiting = worked->waiting;

	worked->waiting = (struct records){ 0 };
	worked->waiting_ns = 0;
	for (size_t at = 0; at < waiting.used;) {
		const struct gmt_hdr *hdr = (const void *)(waiting.bytes + at);
		const struct gmt_stack_copy *copy;

		at += hdr->size;
		if (hdr->kind != GMT_KIND_STACK)
			continue;
		stacking->waiting--;
		copy = take_copy(&waiting, ((const struct gmt_stack *)hdr)->id);
		if (copy)
			walk_again(stacking, worked, (const void *)hdr, copy);
		else
			naming_stack(stacking->naming, &worked->space, (const void *)hdr);
	}
	keep_early_copies(worked, &waiting);
	free(waiting.bytes);
}

static void forget(struct stacking *stacking, uint32_t tgid)
{
	struct worked *worked;

	if (!hash_take(&stacking->processes, tgid, &worked))
		return;
	name_waiting(stacking, worked);
	space_fini(&worked->space, &stacking->maps);
	free(worked);
}

static void publish(struct stacking *stacking, struct worked *worked, uint64_t now_ns)
{
	space_publish(&worked->space, &stacking->maps);
	worked->published_ns = now_ns;
	worked->is_stale = false;
}

/* It has ended. Its files can still be opened by their paths, if these are the same for us. */
static void lose_process(struct worked *worked)
{
	worked->space.is_gone = true;
	worked->due = DUE_NOT;
	if (worked->space.shares_mounts)
		worked->space.modules.pid = 0;
}

static uint64_t read_period(const struct worked *worked)
{
	uint64_t period = (worked->read_ns - worked->first_ns) / 8;

	if (period < READ_PERIOD_YOUNG_NS)
		return READ_PERIOD_YOUNG_NS;
	return period < READ_PERIOD_NS ? period : READ_PERIOD_NS;
}

static void read_process(struct stacking *stacking, struct worked *worked)
{
	uint64_t now_ns = stream_now_ns();
	int changed = space_read(&worked->space, stacking->tables);

	worked->read_ns = now_ns;
	if (!worked->first_ns)
		worked->first_ns = now_ns;
	/* Python that is starting up is asked again, at the period of reading. */
	worked->due = changed >= 0 && worked->space.python_state == SPACE_PYTHON_UNKNOWN &&
		      worked->space.with_python ? DUE_SOON : DUE_NOT;
	if (changed < 0)
		lose_process(worked);
	else if (changed || !worked->space.is_published)
		publish(stacking, worked, now_ns);
}

/* BPF did not get to the end for want of a table or a mapping: there may be one soon. */
static bool wants_tables(const struct stacking *stacking, const struct gmt_stack *stack)
{
	return (stacking->mode == GMT_STACKS_FULL || stacking->mode == GMT_STACKS_NATIVE) &&
	       (stack->reason == GMT_UNWIND_END_NO_MAPPING || stack->reason == GMT_UNWIND_END_NO_TABLE ||
		stack->reason == GMT_UNWIND_END_NOT_WALKED);
}


static void name_stack(struct stacking *stacking, const struct gmt_stack *stack)
{
	struct worked *worked = process_of(stacking, stack->hdr.tgid, true);
	struct space *space = &worked->space;

	if (!space->modules.map_count && !space->is_gone)
		read_process(stacking, worked);
	else if (!space->is_gone && kill((pid_t)stack->hdr.tgid, 0) && errno == ESRCH)
		lose_process(worked);
	if (!wants_tables(stacking, stack)) {
		naming_stack(stacking->naming, space, stack);
		return;
	}
	naming_python(stacking->naming, space, stack);
	records_add(&worked->waiting, stack, stack->hdr.size);
	worked->waiting_ns = stack->hdr.ts_ns;
	stacking->waiting++;
	if (worked->due == DUE_NOT && !space->is_gone)
		worked->due = DUE_SOON;
}

static void keep_copy(struct stacking *stacking, const struct gmt_stack_copy *copy)
{
	struct worked *worked = process_of(stacking, copy->hdr.tgid, true);

	records_add(&worked->waiting, copy, copy->hdr.size);
}

/* Another program, at other places; unless it was read since. */
static void start_program(struct stacking *stacking, const struct gmt_hdr *hdr)
{
	struct worked *worked = process_of(stacking, hdr->tgid, false);

	if (!worked || worked->read_ns > hdr->ts_ns)
		return;
	forget(stacking, hdr->tgid);
	process_of(stacking, hdr->tgid, true);
}

static void take_record(struct stacking *stacking, const struct gmt_hdr *hdr)
{
	switch (hdr->kind) {
	case GMT_KIND_STACK:
		name_stack(stacking, (const void *)hdr);
		break;
	case GMT_KIND_STACK_COPY:
		keep_copy(stacking, (const void *)hdr);
		break;
	case GMT_KIND_PROC_EXIT:
		forget(stacking, hdr->tgid);
		break;
	case GMT_KIND_PROC_EXEC:
		start_program(stacking, hdr);
		break;
	}
}

static void take_records(struct stacking *stacking, const struct records *records)
{
	for (size_t at = 0; at < records->used;) {
		const struct gmt_hdr *hdr = (const void *)(records->bytes + at);

		take_record(stacking, hdr);
		at += hdr->size;
	}
}

/* Moves the marks of the other thread over. */
static void take_marks(struct stacking *stacking)
{
	size_t pos = 0;
	uint64_t tgid;
	void *value;

	while (hash_next(&stacking->known, &pos, &tgid, &value)) {
		enum due *mark = value;
		struct worked *worked;

		if (*mark == DUE_NOT)
			continue;
		worked = process_of(stacking, (uint32_t)tgid, true);
		if (worked->due < *mark)
			worked->due = *mark;
		*mark = DUE_NOT;
	}
}

/* Does what is due for processes. Returns how long there is nothing to do. */
static uint64_t work_on_processes(struct stacking *stacking)
{
	uint64_t now_ns = stream_now_ns(), wait_ns = IDLE_NS;
	bool has_built = false;
	size_t pos = 0;
	void *value;

	while (hash_next(&stacking->processes, &pos, NULL, &value)) {
		struct worked *worked = *(struct worked **)value;

		if (worked->due && !worked->space.is_gone) {
			uint64_t due_ns = worked->read_ns + read_period(worked);

			if (due_ns <= now_ns || worked->due == DUE_NOW)
				read_process(stacking, worked);
			else if (due_ns - now_ns < wait_ns)
				wait_ns = due_ns - now_ns;
		}
		if (worked->space.pending && !has_built) {
			space_build_one(&worked->space, stacking->tables);
			has_built = worked->is_stale = true;
			now_ns = stream_now_ns();
		}
		if (worked->is_stale && !worked->space.is_gone &&
		    (!worked->space.pending || now_ns - worked->published_ns >= PUBLISH_PERIOD_NS))
			publish(stacking, worked, now_ns);
		if (worked->space.pending || worked->is_stale)
			wait_ns = 0;
		else if (worked->waiting_ns && (worked->space.is_gone || worked->read_ns > worked->waiting_ns))
			name_waiting(stacking, worked);
	}
	return wait_ns;
}

static void wait_for_work(struct stacking *stacking, uint64_t wait_ns)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += (long)(wait_ns % 1000000000);
	until.tv_sec += (time_t)(wait_ns / 1000000000) + until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&stacking->work, &stacking->lock, &until);
}

static void *work(void *arg)
{
	struct stacking *stacking = arg;
	uint64_t wait_ns = 0;

	pthread_mutex_lock(&stacking->lock);
	while (!stacking->is_ending) {
		struct records taken = stacking->in;

		if (!taken.used) {
			stacking->is_busy = stacking->waiting;
			pthread_cond_broadcast(&stacking->done);
			if (wait_ns)
				wait_for_work(stacking, wait_ns);
			taken = stacking->in;
		}
		stacking->in = (struct records){ 0 };
		stacking->is_busy = taken.used || stacking->waiting;
		take_marks(stacking);
		pthread_mutex_unlock(&stacking->lock);
		take_records(stacking, &taken);
		free(taken.bytes);
		wait_ns = work_on_processes(stacking);
		pthread_mutex_lock(&stacking->lock);
	}
	stacking->is_busy = false;
	pthread_cond_broadcast(&stacking->done);
	pthread_mutex_unlock(&stacking->lock);
	return NULL;
}

/* ---- the other thread ---- */

struct stacking *stacking_new(const struct stacking_options *options)
{
	struct stacking *stacking;
	pthread_condattr_t clock;

	if (options->mode == GMT_STACKS_OFF)
		return NULL;
	stacking = xcalloc(1, sizeof(*stacking));
	stacking->mode = options->mode;
	hash_init(&stacking->known, sizeof(enum due));
	hash_init(&stacking->processes, sizeof(struct worked *));
	space_maps_init(&stacking->maps, options->spaces_fd, options->mappings_fd);
	stacking->tables = tables_new(options->shards_fd, options->cache);
	stacking->naming = naming_new(put_out, stacking);
	pthread_mutex_init(&stacking->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&stacking->work, &clock);
	pthread_cond_init(&stacking->done, &clock);
	pthread_condattr_destroy(&clock);
	stacking->has_thread = !pthread_create(&stacking->thread, NULL, work, stacking);
	if (!stacking->has_thread) {
		stacking_free(stacking);
		return NULL;
	}
	return stacking;
}

void stacking_free(struct stacking *stacking)
{
	size_t pos = 0;
	void *value;

	if (!stacking)
		return;
	pthread_mutex_lock(&stacking->lock);
	stacking->is_ending = true;
	pthread_cond_signal(&stacking->work);
	pthread_mutex_unlock(&stacking->lock);
	if (stacking->has_thread)
		pthread_join(stacking->thread, NULL);
	while (hash_next(&stacking->processes, &pos, NULL, &value)) {
		struct worked *worked = *(struct worked **)value;

		space_fini(&worked->space, &stacking->maps);
		free(worked);
	}
	naming_free(stacking->naming);
	tables_free(stacking->tables);
	hash_fini(&stacking->processes);
	hash_fini(&stacking->known);
	pthread_mutex_destroy(&stacking->lock);
	pthread_cond_destroy(&stacking->work);
	pthread_cond_destroy(&stacking->done);
	free(stacking->in.bytes);
	free(stacking->out.bytes);
	free(stacking);
}

static void mark(struct stacking *stacking, pid_t tgid, enum due due)
{
	enum due *known;

	if (!stacking)
		return;
	pthread_mutex_lock(&stacking->lock);
	known = hash_put(&stacking->known, (uint32_t)tgid, NULL);
	if (*known < due)
		*known = due;
	pthread_cond_signal(&stacking->work);
	pthread_mutex_unlock(&stacking->lock);
}

void stacking_process(struct stacking *stacking, pid_t tgid)
{
	mark(stacking, tgid, DUE_NOW);
}

void stacking_mapped(struct stacking *stacking, pid_t tgid)
{
	mark(stacking, tgid, DUE_SOON);
}

bool stacking_knows(struct stacking *stacking, pid_t tgid)
{
	bool knows;

	if (!stacking)
		return false;
	pthread_mutex_lock(&stacking->lock);
	knows = hash_get(&stacking->known, (uint32_t)tgid);
	pthread_mutex_unlock(&stacking->lock);
	return knows;
}

bool stacking_is_sign(const char *path)
{
	static const char *const starts[] = { "libcudart.so", "libc10", "libtorch", "libnccl.so", "libcublas" };
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		if (!strncmp(name, starts[i], strlen(starts[i])))
			return true;
	return false;
}

/* Checked here, once: what the worker gets has the words that it says it has. */
static bool is_wanted(const struct gmt_hdr *hdr)
{
	const struct gmt_stack_copy *copy = (const void *)hdr;
	const struct gmt_stack *stack = (const void *)hdr;

	switch (hdr->kind) {
	case GMT_KIND_STACK:
		return hdr->size >= sizeof(*stack) && stack->count <= GMT_STACK_WORDS &&
		       stack->count <= (hdr->size - sizeof(*stack)) / sizeof(__u64);
	case GMT_KIND_STACK_COPY:
		return hdr->size >= sizeof(*copy) &&
		       copy->count <= (hdr->size - sizeof(*copy)) / sizeof(__u64);
	}
	return hdr->kind == GMT_KIND_PROC_EXIT || hdr->kind == GMT_KIND_PROC_EXEC;
}

void stacking_see(struct stacking *stacking, const struct gmt_hdr *record)
{
	if (!stacking || !is_wanted(record))
		return;
	pthread_mutex_lock(&stacking->lock);
	if (record->kind == GMT_KIND_PROC_EXIT)
		hash_erase(&stacking->known, record->tgid);
	records_add(&stacking->in, record, record->size);
	pthread_cond_signal(&stacking->work);
	pthread_mutex_unlock(&stacking->lock);
}

void stacking_collect(struct stacking *stacking, struct stream *stream)
{
	struct records out;

	if (!stacking)
		return;
	pthread_mutex_lock(&stacking->lock);
	out = stacking->out;
	stacking->out = (struct records){ 0 };
	pthread_mutex_unlock(&stacking->lock);
	for (size_t at = 0; at < out.used;) {
		const struct gmt_hdr *hdr = (const void *)(out.bytes + at);

		stream_put(stream, hdr, hdr->size);
		at += hdr->size;
	}
	free(out.bytes);
}

void stacking_finish(struct stacking *stacking, struct stream *stream, uint64_t timeout_ns)
{
	uint64_t until_ns = stream_now_ns() + timeout_ns;
	struct timespec until = { .tv_sec = (time_t)(until_ns / 1000000000),
				  .tv_nsec = (long)(until_ns % 1000000000) };

	if (!stacking)
		return;
	pthread_mutex_lock(&stacking->lock);
	pthread_cond_signal(&stacking->work);
	while (stacking->in.used || stacking->is_busy)
		if (pthread_cond_timedwait(&stacking->done, &stacking->lock, &until))
			break;
	pthread_mutex_unlock(&stacking->lock);
	stacking_collect(stacking, stream);
}
