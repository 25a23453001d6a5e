// SPDX-License-Identifier: BSD-2-Clause
#include "core/lives/kept_lives.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/xalloc.h"
#include "core/lives/largest_lives.h"
#include "core/lives/lives.h"
#include "core/lives/lives_around.h"

#define SHED_PARTS 8         /* memory is short: a part of the room stays */

struct kept_process {
	struct lives_around around;
	struct kept_count *seen; /* of each GPU */
	unsigned int seen_count;
	uint64_t end;             /* has ended as the so many-th process; 0: it has not */
};

struct kept_lives {
	struct life_taker taker;
	bool keeps_all;
	struct life *all;
	size_t all_count;
	struct hash processes;   /* struct kept_process, by number */
	struct largest_lives largest;
	uint64_t room;           /* for lives around moments */
	struct hash refused;     /* no value: processes for which there was no room, by number */
	uint64_t ends;           /* of processes so far */
	uint32_t ended;          /* processes that are kept */
	uint64_t unseen, processes_left_out, moments_left_out;
	struct life_moment left_out; /* the newest of a refused process */
	uint64_t shed_ns;
};

static void free_kept_process(struct kept_process *kp)
{
	lives_around_fini(&kp->around);
	free(kp->seen);
}

void kept_lives_free(struct kept_lives *kept)
{
	size_t pos = 0;
	void *kp;

	if (!kept)
		return;
	while (hash_next(&kept->processes, &pos, NULL, &kp))
		free_kept_process(kp);
	hash_fini(&kept->processes);
	hash_fini(&kept->refused);
	largest_lives_fini(&kept->largest);
	free(kept->all);
	free(kept);
}

const struct life_taker *kept_lives_taker(const struct kept_lives *kept)
{
	return &kept->taker;
}

/* The lives go, but for the largest ones, and their number stays. */
static void drop_kept_process(struct kept_lives *kept, uint32_t number)
{
	struct kept_process kp;

	if (!hash_take(&kept->processes, number, &kp))
		return;
	for (unsigned int i = 0; i < kp.seen_count; i++)
		kept->unseen += kp.seen[i].lives;
	kept->ended -= kp.end != 0;
	kept->room += lives_around_count(&kp.around);
	free_kept_process(&kp);
}

/* Makes room for another process. */
static void drop_oldest_ended(struct kept_lives *kept)
{
	uint64_t end = UINT64_MAX, key, number = 0;
	size_t pos = 0;
	void *at;

	while (hash_next(&kept->processes, &pos, &key, &at)) {
		const struct kept_process *kp = at;

		if (kp->end && kp->end < end) {
			end = kp->end;
			number = key;
		}
	}
	at = hash_get(&kept->processes, number);
	kept->moments_left_out += lives_around_moments(&((struct kept_process *)at)->around);
	kept->processes_left_out++;
	drop_kept_process(kept, (uint32_t)number);
}

/* NULL: there is no room, and no process that is kept has ended. */
static struct kept_process *put_kept_process(struct kept_lives *kept, uint32_t number)
{
	struct kept_process *kp = hash_get(&kept->processes, number);
	bool is_new;

	if (kp)
		return kp;
	if (!kept->keeps_all && hash_count(&kept->processes) >= KEPT_PROCESSES) {
		if (!kept->ended) {
			hash_put(&kept->refused, number, &is_new);
			kept->processes_left_out += is_new;
			return NULL;
		}
		drop_oldest_ended(kept);
	}
	kp = hash_put(&kept->processes, number, NULL);
	kp->around.keeps_all = kept->keeps_all;
	return kp;
}

static void count_seen(struct kept_process *kp, const struct life *life)
{
	for (unsigned int i = 0; i < kp->seen_count; i++)
		if (kp->seen[i].gpu == life->gpu) {
			kp->seen[i].lives++;
			return;
		}
	kp->seen = xgrow(kp->seen, kp->seen_count, sizeof(*kp->seen));
	kp->seen[kp->seen_count++] = (struct kept_count){ life->process, life->gpu, 1 };
}

static void take_life(void *arg, const struct life *life)
{
	struct kept_lives *kept = arg;
	struct kept_process *kp = put_kept_process(kept, life->process);
	struct life decided;

	if (kp)
		count_seen(kp, life);
	else
		kept->unseen++;
	if (kept->keeps_all) {
		kept->all = xgrow(kept->all, kept->all_count, sizeof(*kept->all));
		kept->all[kept->all_count++] = *life;
		return;
	}
	largest_lives_offer(&kept->largest, life);
	if (kp && lives_around_wait(&kp->around, life, &decided))
		lives_around_keep(&kp->around, &decided, &kept->room);
}

/* Memory of the host, and memory that counts for another process, is on no GPU of this process. */
static void take_allocation(void *arg, const struct life *life)
{
	if (life->is_counted)
		take_life(arg, life);
}

/* A moment comes for each GPU of the process. */
static void leave_moment_out(struct kept_lives *kept, const struct life_moment *moment)
{
	const struct life_moment *before = &kept->left_out;

	kept->moments_left_out += before->process != moment->process || before->at.own != moment->at.own ||
				  before->why != moment->why;
	kept->left_out = *moment;
}

static void take_moment(void *arg, const struct life_moment *moment)
{
	struct kept_lives *kept = arg;
	/* LIFE_AT_MARK is the tool's own: nobody asked for it. */
	bool is_wanted = moment->why == LIFE_AT_REQUEST || moment->why == LIFE_AT_WINDOW;
	struct kept_process *kp = is_wanted ? put_kept_process(kept, moment->process) : NULL;

	if (kp)
		lives_around_moment(&kp->around, moment, &kept->room);
	else if (is_wanted)
		leave_moment_out(kept, moment);
}

static void take_peak(void *arg, const struct life_moment *moment, bool is_of_blocks)
{
	struct kept_process *kp = put_kept_process(arg, moment->process);

	if (kp)
		lives_around_peak(&kp->around, moment, is_of_blocks);
}

static void take_exit(void *arg, uint32_t process)
{
	struct kept_lives *kept = arg;
	struct kept_process *kp = hash_get(&kept->processes, process);

	if (!kp || kp->end)
		return;
	kp->end = ++kept->ends;
	kept->ended++;
}

static void forget_kept(void *arg, uint32_t process)
{
	struct kept_lives *kept = arg;

	drop_kept_process(kept, process);
	hash_erase(&kept->refused, process);
	largest_lives_forget(&kept->largest, process);
}

/* ---- memory is short ---- */

static void take_shed(void *arg, uint64_t ts_ns)
{
	struct kept_lives *kept = arg;
	size_t pos = 0;
	void *kp;

	while (hash_next(&kept->processes, &pos, NULL, &kp))
		lives_around_shed(&((struct kept_process *)kp)->around);
	largest_lives_fini(&kept->largest);
	kept->room = KEPT_AROUND / SHED_PARTS;
	kept->shed_ns = ts_ns;
}

static void take_lost(void *arg, const struct life *life)
{
	struct kept_lives *kept = arg;
	struct kept_process *kp;

	if (!life->is_block && !life->is_counted)
		return;
	kp = put_kept_process(kept, life->process);
	if (kp)
		count_seen(kp, life);
	else
		kept->unseen++;
}

struct kept_lives *kept_lives_new(bool keeps_all)
{
	struct kept_lives *kept = xcalloc(1, sizeof(*kept));

	kept->keeps_all = keeps_all;
	kept->room = KEPT_AROUND;
	hash_init(&kept->processes, sizeof(struct kept_process));
	hash_init(&kept->refused, 1);
	kept->taker = (struct life_taker){
		.arg = kept, .allocation = take_allocation, .block = take_life, .moment = take_moment,
		.peak = take_peak, .exit = take_exit, .forget = forget_kept,
		.shed = keeps_all ? NULL : take_shed, .lost = take_lost,
	};
	return kept;
}

/* ---- what is shown ---- */

struct collected {
	const struct kept_lives *kept;
	struct kept_shown *out;
	struct largest_lives largest;
	struct hash places;      /* size_t: index in out->seen, by process and GPU */
	const struct kept_process *kp;
};

static void add_shown(struct collected *c, const struct life *life)
{
	c->out->lives = xgrow(c->out->lives, c->out->count, sizeof(*c->out->lives));
	c->out->lives[c->out->count++] = *life;
}

static void show_seen(struct collected *c, uint32_t process, int16_t gpu, uint64_t lives)
{
	struct kept_shown *out = c->out;
	bool is_new;
	size_t *place = hash_put(&c->places, (uint64_t)process << 16 | (uint16_t)gpu, &is_new);

	if (is_new) {
		*place = out->seen_count;
		out->seen = xgrow(out->seen, out->seen_count, sizeof(*out->seen));
		out->seen[out->seen_count++] = (struct kept_count){ process, gpu, 0 };
	}
	out->seen[*place].lives += lives;
}

/* Of the lives that are kept or wait, some may have been left behind by a peak. */
static void add_around(void *arg, const struct life *life)
{
	struct collected *c = arg;

	if (lives_around_has(&c->kp->around, life))
		add_shown(c, life);
}

static void add_alive(void *arg, const struct life *life)
{
	struct collected *c = arg;
	const struct kept_process *kp = hash_get(&c->kept->processes, life->process);
	bool is_wanted = c->kept->keeps_all || (kp && lives_around_has(&kp->around, life));

	show_seen(c, life->process, life->gpu, 1);
	largest_lives_offer(&c->largest, life);
	if (is_wanted)
		add_shown(c, life);
}

static void add_alive_allocation(void *arg, const struct life *life)
{
	if (life->is_counted)
		add_alive(arg, life);
}

static void add_kept_moments(struct kept_shown *out, const struct around_moment *moments, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		out->moments = xgrow(out->moments, out->moment_count, sizeof(*out->moments));
		out->moments[out->moment_count++] = (struct kept_moment){ moments[i].of, moments[i].is_of_blocks };
	}
}

static void collect_process(struct collected *c, const struct kept_process *kp)
{
	struct kept_shown *out = c->out;

	c->kp = kp;
	lives_around_each(&kp->around, add_around, c);
	add_kept_moments(out, kp->around.moments, kp->around.moment_count);
	add_kept_moments(out, kp->around.peaks, kp->around.peak_count);
	out->moments_left_out += kp->around.left_out;
	out->around_left_out += kp->around.lives_left_out;
	for (unsigned int i = 0; i < kp->seen_count; i++)
		show_seen(c, kp->seen[i].process, kp->seen[i].gpu, kp->seen[i].lives);
}

static int compare_births(const void *left, const void *right)
{
	const struct life *a = left, *b = right;

	if (a->birth.change != b->birth.change)
		return a->birth.change < b->birth.change ? -1 : 1;
	return a->is_block - b->is_block;
}

/* A change begins one life at most. */
static void drop_doubles(struct kept_shown *out)
{
	size_t kept = 0;

	if (out->count)
		qsort(out->lives, out->count, sizeof(*out->lives), compare_births);
	for (size_t i = 0; i < out->count; i++)
		if (!kept || compare_births(&out->lives[kept - 1], &out->lives[i]))
			out->lives[kept++] = out->lives[i];
	out->count = kept;
}

void kept_lives_show(const struct kept_lives *kept, const struct lives *lives, struct kept_shown *out)
{
	struct collected c = { .kept = kept, .out = out };
	const struct life_taker alive = { .arg = &c, .allocation = add_alive_allocation, .block = add_alive };
	uint64_t *numbers;
	size_t count;

	*out = (struct kept_shown){
		.unseen = kept->unseen, .moments_left_out = kept->moments_left_out,
		.processes_left_out = kept->processes_left_out, .shed_ns = kept->shed_ns,
		.keeps_all = kept->keeps_all,
	};
	hash_init(&c.places, sizeof(size_t));
	largest_lives_copy(&c.largest, &kept->largest);
	numbers = hash_sorted_keys(&kept->processes, &count);
	for (size_t i = 0; i < count; i++)
		collect_process(&c, hash_get(&kept->processes, numbers[i]));
	free(numbers);
	for (size_t i = 0; i < kept->all_count; i++)
		add_shown(&c, &kept->all[i]);
	lives_each_alive(lives, &alive);
	for (uint32_t i = 0; !kept->keeps_all && i < c.largest.count; i++)
		add_shown(&c, &c.largest.list[i]);
	largest_lives_fini(&c.largest);
	hash_fini(&c.places);
	drop_doubles(out);
}

void kept_shown_free(struct kept_shown *shown)
{
	free(shown->lives);
	free(shown->moments);
	free(shown->seen);
	*shown = (struct kept_shown){ 0 };
}
