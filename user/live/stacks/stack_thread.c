// SPDX-License-Identifier: BSD-2-Clause
/*
 * One lock guards the data of both threads: the two lists of records and the set of processes. The worker takes all
 * records at once, and works without the lock.
 */
#include "live/stacks/stack_thread.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"
#include "base/human.h"
#include "base/xalloc.h"
#include "live/stacks/copies.h"
#include "live/stacks/record_list.h"
#include "live/stacks/stack_worker.h"
#include "live/stream.h"
#include "parse/client.h"

#define NOTE_BYTES 512
#define LOOK_NS 20000000ULL          /* between two looks whether a wait is over */
#define NOTE_COLUMNS 80              /* of a path in a note */
#define IN_MOST (64u << 20)          /* bytes for the worker. Beyond, stacks stay without names, which is counted */
#define IN_MOST_ALL (2 * IN_MOST)    /* ... with what the worker must know of processes */
#define FILE_NOTES_MAX 16            /* a user may have any number of files that cannot be read: they are counted */

struct stacking {
	pthread_t thread;
	bool has_thread;
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	/* under the lock */
	struct records in, out;
	char **notes;                /* sentences */
	size_t note_count;
	uint64_t refused;            /* files that could not be read */
	uint64_t ended;              /* of them, those whose reader was ended (parse_was_ended()) */
	struct hash known;           /* tgid -> enum stackwork_due */
	uint64_t seen;               /* stacks, ever */
	struct copies_room unseen;   /* copies that the worker did not get */
	struct tables_stats stats;   /* of the worker's tables, after its last step */
	bool is_busy, is_ending, has_ended;
	enum gmt_shed shed;          /* memory is short: what to give up */
	/* the worker's */
	struct stackwork *stackwork;
};

/* ---- the worker ---- */

static void put_out(void *arg, const void *record, size_t size)
{
	struct stacking *stacking = arg;

	pthread_mutex_lock(&stacking->lock);
	records_add(&stacking->out, record, size);
	pthread_mutex_unlock(&stacking->lock);
}

static void add_note(struct stacking *stacking, char *text)
{
	stacking->notes = xgrow(stacking->notes, stacking->note_count, sizeof(*stacking->notes));
	stacking->notes[stacking->note_count++] = text;
}

static void note_refusal(void *arg, uint32_t tgid, const char *why)
{
	struct stacking *stacking = arg;
	char *text = xmalloc(NOTE_BYTES);

	snprintf(text, NOTE_BYTES, "stack traces of process %u have no Python frames: %s", tgid, why);
	pthread_mutex_lock(&stacking->lock);
	add_note(stacking, text);
	pthread_mutex_unlock(&stacking->lock);
}

static void note_file(void *arg, const char *path, const char *missing, int err, const char *why)
{
	char shown[4 * NOTE_COLUMNS + 1], *text = xmalloc(NOTE_BYTES);
	struct stacking *stacking = arg;

	human_text(shown, NOTE_COLUMNS, path, strlen(path));
	pthread_mutex_lock(&stacking->lock);
	snprintf(text, NOTE_BYTES, "%s: %s, because it %s%s", shown, missing, why,
		 stacking->refused + 1 == FILE_NOTES_MAX ? "; more such files are counted, not named" : "");
	stacking->ended += parse_was_ended(err);
	if (stacking->refused++ < FILE_NOTES_MAX && err != -ECHILD) /* of which the session speaks once */
		add_note(stacking, text);
	else
		free(text);
	pthread_mutex_unlock(&stacking->lock);
}

/* If the pid was marked again meanwhile, the process is another one. */
static void forget_known(void *arg, uint32_t tgid)
{
	struct stacking *stacking = arg;
	enum stackwork_due *mark;

	pthread_mutex_lock(&stacking->lock);
	mark = hash_get(&stacking->known, tgid);
	if (mark && *mark == DUE_NOT)
		hash_erase(&stacking->known, tgid);
	pthread_mutex_unlock(&stacking->lock);
}

struct mark {
	uint32_t tgid;
	enum stackwork_due due;
};

/* Takes the marks of the other thread: an array, to be freed, which ends with a tgid 0. The worker acts on them without
 * the lock, as it may put records out. */
static struct mark *take_marks(struct stacking *stacking)
{
	struct mark *marks = xcalloc(hash_count(&stacking->known) + 1, sizeof(*marks));
	size_t count = 0;
	size_t pos = 0;
	uint64_t tgid;
	void *value;

	while (hash_next(&stacking->known, &pos, &tgid, &value)) {
		enum stackwork_due *mark = value;

		if (*mark != DUE_NOT)
			marks[count++] = (struct mark){ (uint32_t)tgid, *mark };
		*mark = DUE_NOT;
	}
	return marks;
}

static void act_on_marks(struct stacking *stacking, struct mark *marks)
{
	for (size_t i = 0; marks[i].tgid; i++)
		stackwork_mark(stacking->stackwork, marks[i].tgid, marks[i].due);
	free(marks);
}

static struct timespec time_after(uint64_t wait_ns)
{
	uint64_t until_ns = stream_now_ns() + wait_ns;

	return (struct timespec){ (time_t)(until_ns / 1000000000), (long)(until_ns % 1000000000) };
}

static void wait_for_work(struct stacking *stacking, uint64_t wait_ns)
{
	struct timespec until = time_after(wait_ns);

	pthread_cond_timedwait(&stacking->work, &stacking->lock, &until);
}

/* What parsing a library took. False: it was given back. */
static bool give_memory_back(struct stacking *stacking)
{
	pthread_mutex_unlock(&stacking->lock);
	malloc_trim(0);
	pthread_mutex_lock(&stacking->lock);
	return false;
}

/* What the other thread has asked for (stacking_shed()). */
static void give_up(struct stacking *stacking, enum gmt_shed step)
{
	if (step == GMT_SHED_NOTHING)
		return;
	stackwork_shed(stacking->stackwork, step);
	malloc_trim(0);
}

static void *work_on_stacks(void *arg)
{
	struct stacking *stacking = arg;
	bool has_worked = false;
	uint64_t wait_ns = 0;

	pthread_setname_np(pthread_self(), "gmt-stacks");
	pthread_mutex_lock(&stacking->lock);
	while (!stacking->is_ending) {
		struct records taken = stacking->in;
		enum gmt_shed shed;
		struct mark *marks;

		if (!taken.used) {
			stacking->is_busy = stackwork_waiting(stacking->stackwork);
			pthread_cond_broadcast(&stacking->done);
			if (wait_ns)
				wait_for_work(stacking, wait_ns);
			if (wait_ns >= STACKWORK_IDLE_NS && has_worked)
				has_worked = give_memory_back(stacking);
			taken = stacking->in;
		}
		stacking->in = (struct records){ 0 };
		stacking->is_busy = taken.used || stackwork_waiting(stacking->stackwork);
		has_worked |= taken.used;
		marks = take_marks(stacking);
		shed = stacking->shed;
		stacking->shed = GMT_SHED_NOTHING;
		pthread_mutex_unlock(&stacking->lock);
		give_up(stacking, shed);
		act_on_marks(stacking, marks);
		stackwork_take(stacking->stackwork, &taken);
		free(taken.bytes);
		wait_ns = stackwork_step(stacking->stackwork);
		pthread_mutex_lock(&stacking->lock);
		stackwork_stats(stacking->stackwork, &stacking->stats);
	}
	stacking->is_busy = false;
	stacking->has_ended = true;
	pthread_cond_broadcast(&stacking->done);
	pthread_mutex_unlock(&stacking->lock);
	return NULL;
}

/* ---- the other thread ---- */

struct stacking *stacking_new(const struct stacking_options *options)
{
	struct stackwork_calls calls = { .put = put_out, .say = note_refusal, .refused = note_file,
					.forgotten = forget_known };
	struct stacking *stacking;
	pthread_condattr_t clock;

	if (options->mode == GMT_STACKS_OFF)
		return NULL;
	stacking = xcalloc(1, sizeof(*stacking));
	hash_init(&stacking->known, sizeof(enum stackwork_due));
	calls.arg = stacking;
	stacking->stackwork = stackwork_new(options, &calls);
	pthread_mutex_init(&stacking->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&stacking->work, &clock);
	pthread_cond_init(&stacking->done, &clock);
	pthread_condattr_destroy(&clock);
	stacking->has_thread = !pthread_create(&stacking->thread, NULL, work_on_stacks, stacking);
	if (!stacking->has_thread) {
		stacking_free(stacking, 0);
		return NULL;
	}
	return stacking;
}

/* False: the thread is still busy with a part of its work. */
static bool end_thread(struct stacking *stacking, uint64_t wait_ns)
{
	struct timespec until = time_after(wait_ns);
	bool has_ended;

	pthread_mutex_lock(&stacking->lock);
	stacking->is_ending = true;
	pthread_cond_signal(&stacking->work);
	while (stacking->has_thread && !stacking->has_ended)
		if (pthread_cond_timedwait(&stacking->done, &stacking->lock, &until))
			break;
	has_ended = !stacking->has_thread || stacking->has_ended;
	pthread_mutex_unlock(&stacking->lock);
	return has_ended;
}

bool stacking_free(struct stacking *stacking, uint64_t wait_ns)
{
	if (!stacking)
		return true;
	if (!end_thread(stacking, wait_ns))
		return false;
	if (stacking->has_thread)
		pthread_join(stacking->thread, NULL);
	stackwork_free(stacking->stackwork);
	hash_fini(&stacking->known);
	pthread_mutex_destroy(&stacking->lock);
	pthread_cond_destroy(&stacking->work);
	pthread_cond_destroy(&stacking->done);
	while (stacking->note_count)
		free(stacking->notes[--stacking->note_count]);
	free(stacking->notes);
	free(stacking->in.bytes);
	free(stacking->out.bytes);
	free(stacking);
	return true;
}

static void mark_due(struct stacking *stacking, pid_t tgid, enum stackwork_due due)
{
	enum stackwork_due *known;

	if (!stacking)
		return;
	pthread_mutex_lock(&stacking->lock);
	known = hash_put(&stacking->known, (uint32_t)tgid, NULL);
	if (*known < due)
		*known = due;
	pthread_cond_signal(&stacking->work);
	pthread_mutex_unlock(&stacking->lock);
}

void stacking_shed(struct stacking *stacking, enum gmt_shed step)
{
	if (!stacking)
		return;
	pthread_mutex_lock(&stacking->lock);
	if (stacking->shed < step)
		stacking->shed = step;
	pthread_cond_signal(&stacking->work);
	pthread_mutex_unlock(&stacking->lock);
}

void stacking_process(struct stacking *stacking, pid_t tgid)
{
	mark_due(stacking, tgid, DUE_NOW);
}

void stacking_mapped(struct stacking *stacking, pid_t tgid)
{
	mark_due(stacking, tgid, DUE_SOON);
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
	const char *name = basename(path);

	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		if (!strncmp(name, starts[i], strlen(starts[i])))
			return true;
	return false;
}

/* Checks records once: a stack that the worker gets has as many words as its count says. */
static bool is_stack_wanted(const struct gmt_hdr *hdr)
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
	if (hdr->kind == GMT_KIND_CODE_MAPPED)
		return hdr->size >= sizeof(struct gmt_code_mapped);
	return hdr->kind == GMT_KIND_PROC_EXIT || hdr->kind == GMT_KIND_PROC_EXEC;
}

static bool is_of_stacks(const struct gmt_hdr *record)
{
	return record->kind == GMT_KIND_STACK || record->kind == GMT_KIND_STACK_COPY;
}

void stacking_see(struct stacking *stacking, const struct gmt_hdr *record)
{
	if (!stacking || !is_stack_wanted(record))
		return;
	pthread_mutex_lock(&stacking->lock);
	if (record->kind == GMT_KIND_PROC_EXIT)
		hash_erase(&stacking->known, record->tgid);
	stacking->seen += record->kind == GMT_KIND_STACK;
	if (stacking->in.used < (is_of_stacks(record) ? IN_MOST : IN_MOST_ALL))
		records_add(&stacking->in, record, copies_used(record));
	else if (record->kind == GMT_KIND_STACK_COPY)
		copies_lose(&stacking->unseen, (const void *)record);
	pthread_cond_signal(&stacking->work);
	pthread_mutex_unlock(&stacking->lock);
}

char *stacking_note(struct stacking *stacking)
{
	char *text = NULL;

	if (!stacking)
		return NULL;
	pthread_mutex_lock(&stacking->lock);
	if (stacking->note_count) {
		text = stacking->notes[0];
		memmove(stacking->notes, stacking->notes + 1, --stacking->note_count * sizeof(*stacking->notes));
	}
	pthread_mutex_unlock(&stacking->lock);
	return text;
}

uint64_t stacking_refused(struct stacking *stacking, uint64_t *ended)
{
	uint64_t refused;

	*ended = 0;
	if (!stacking)
		return 0;
	pthread_mutex_lock(&stacking->lock);
	refused = stacking->refused;
	*ended = stacking->ended;
	pthread_mutex_unlock(&stacking->lock);
	return refused;
}

void stacking_stats(struct stacking *stacking, struct tables_stats *stats)
{
	*stats = (struct tables_stats){ 0 };
	if (!stacking)
		return;
	pthread_mutex_lock(&stacking->lock);
	*stats = stacking->stats;
	stats->cut_stacks += stacking->unseen.cut;
	pthread_mutex_unlock(&stacking->lock);
}

void stacking_collect(struct stacking *stacking, struct stream *stream)
{
	const struct gmt_hdr *hdr;
	struct records out;
	size_t at = 0;

	if (!stacking)
		return;
	pthread_mutex_lock(&stacking->lock);
	out = stacking->out;
	stacking->out = (struct records){ 0 };
	pthread_mutex_unlock(&stacking->lock);
	while ((hdr = records_next(&out, &at)))
		stream_put(stream, hdr, hdr->size);
	free(out.bytes);
}

size_t stacking_finish(struct stacking *stacking, struct stream *stream, const struct stacking_wait *wait)
{
	uint64_t until_ns = stream_now_ns() + wait->most_ns;

	if (!stacking)
		return 0;
	pthread_mutex_lock(&stacking->lock);
	pthread_cond_signal(&stacking->work);
	while (stacking->in.used || stacking->is_busy) {
		struct timespec look = time_after(LOOK_NS);

		if (stream_now_ns() >= until_ns || (wait->is_over && wait->is_over(wait->arg)))
			break;
		pthread_cond_timedwait(&stacking->done, &stacking->lock, &look);
	}
	pthread_mutex_unlock(&stacking->lock);
	stacking_collect(stacking, stream);
	return stacking->seen - stackwork_named(stacking->stackwork);
}
