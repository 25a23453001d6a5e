// SPDX-License-Identifier: BSD-2-Clause
#include "core/lives/life_takers.h"

/* What has come goes to each taker that takes it. */
#define HAND_OVER(function, ...)                                                                       \
	const struct life_takers *takers = arg;                                                        \
                                                                                                       \
	for (unsigned int i = 0; i < takers->count; i++)                                               \
		if (takers->list[i]->function)                                                         \
			takers->list[i]->function(takers->list[i]->arg, __VA_ARGS__)

static void hand_allocation(void *arg, const struct life *life)
{
	HAND_OVER(allocation, life);
}

static void hand_block(void *arg, const struct life *life)
{
	HAND_OVER(block, life);
}

static void hand_call(void *arg, const struct life_call *call)
{
	HAND_OVER(call, call);
}

static void hand_moment(void *arg, const struct life_moment *moment)
{
	HAND_OVER(moment, moment);
}

static void hand_peak(void *arg, const struct life_moment *moment, bool is_of_blocks)
{
	HAND_OVER(peak, moment, is_of_blocks);
}

static void hand_level(void *arg, const struct life_level *level)
{
	HAND_OVER(level, level);
}

static void hand_request(void *arg, uint32_t process, int gpu, uint64_t change, const struct gmt_oom *rec)
{
	HAND_OVER(request, process, gpu, change, rec);
}

static void hand_process(void *arg, const struct life_process *process)
{
	HAND_OVER(process, process);
}

static void hand_exit(void *arg, uint32_t process)
{
	HAND_OVER(exit, process);
}

static void hand_forget(void *arg, uint32_t process)
{
	HAND_OVER(forget, process);
}

static void hand_lost(void *arg, const struct life *life)
{
	HAND_OVER(lost, life);
}

const struct life_taker *life_takers_init(struct life_takers *takers)
{
	*takers = (struct life_takers){ .all = {
		.arg = takers, .allocation = hand_allocation, .block = hand_block,
		.moment = hand_moment, .peak = hand_peak,
		.request = hand_request, .process = hand_process,
		.exit = hand_exit, .forget = hand_forget, .lost = hand_lost,
	} };
	return &takers->all;
}

void life_takers_add(struct life_takers *takers, const struct life_taker *taker)
{
	if (takers->count == LIFE_TAKERS_MAX)
		return;
	takers->list[takers->count++] = taker;
	if (taker->call)
		takers->all.call = hand_call;
	if (taker->level)
		takers->all.level = hand_level;
}

bool life_takers_shed(const struct life_takers *takers, uint64_t ts_ns)
{
	bool can_lose = true;

	for (unsigned int i = 0; i < takers->count; i++)
		if (takers->list[i]->shed)
			takers->list[i]->shed(takers->list[i]->arg, ts_ns);
		else
			can_lose = false;
	return can_lose;
}
