// SPDX-License-Identifier: BSD-2-Clause
#include "live/nvidia/nvml_thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/xalloc.h"
#include "live/stream.h"

enum asked { ASKED_NOTHING, ASKED_WAITS, ASKED_ANSWERED };

struct nvml_thread {
	struct nvml *nvml;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t question, answer;
	/* under the lock */
	enum asked asked;
	bool is_ending;
	/* the thread's while a question waits */
	struct nvml_usage *usages;
	size_t count;
	struct nvml_gpu_memory *gpus; /* room for all */
	size_t gpu_count;
	int err;
};

static void keep_usage(const struct nvml_usage *usage, void *arg)
{
	struct nvml_thread *t = arg;

	t->usages = xgrow(t->usages, t->count, sizeof(*t->usages));
	t->usages[t->count++] = *usage;
}

/* The processes of a GPU in MIG mode are listed with its instances. */
static void read_gpus(struct nvml_thread *t)
{
	size_t count;
	const struct gmt_gpu *gpus = nvml_gpus(t->nvml, &count);

	t->gpu_count = 0;
	for (size_t i = 0; i < count; i++) {
		struct nvml_gpu_memory *memory = &t->gpus[t->gpu_count];

		memory->gpu = &gpus[i];
		if (!(gpus[i].flags & GMT_GPU_MIG_PARENT) &&
		    !nvml_memory(t->nvml, &gpus[i], &memory->used_bytes, &memory->free_bytes))
			t->gpu_count++;
	}
}

static void *answer_questions(void *arg)
{
	struct nvml_thread *t = arg;

	pthread_setname_np(pthread_self(), "gmt-nvml");
	pthread_mutex_lock(&t->lock);
	for (;;) {
		while (t->asked != ASKED_WAITS && !t->is_ending)
			pthread_cond_wait(&t->question, &t->lock);
		if (t->is_ending)
			break;
		t->count = 0;
		pthread_mutex_unlock(&t->lock);
		t->err = nvml_processes(t->nvml, keep_usage, t);
		read_gpus(t);
		pthread_mutex_lock(&t->lock);
		t->asked = ASKED_ANSWERED;
		pthread_cond_signal(&t->answer);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

static void free_questions(struct nvml_thread *t)
{
	pthread_mutex_destroy(&t->lock);
	pthread_cond_destroy(&t->question);
	pthread_cond_destroy(&t->answer);
	free(t->usages);
	free(t->gpus);
	free(t);
}

struct nvml_thread *nvml_thread_new(struct nvml *nvml)
{
	struct nvml_thread *t = xcalloc(1, sizeof(*t));
	pthread_condattr_t clock;
	size_t gpus;

	t->nvml = nvml;
	nvml_gpus(nvml, &gpus);
	t->gpus = xcalloc(gpus + 1, sizeof(*t->gpus));
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&t->question, NULL);
	pthread_cond_init(&t->answer, &clock);
	pthread_condattr_destroy(&clock);
	if (!pthread_create(&t->thread, NULL, answer_questions, t))
		return t;
	free_questions(t);
	return NULL;
}

bool nvml_thread_free(struct nvml_thread *t)
{
	bool is_busy;

	if (!t)
		return true;
	pthread_mutex_lock(&t->lock);
	is_busy = t->asked == ASKED_WAITS;
	t->is_ending = true;
	pthread_cond_signal(&t->question);
	pthread_mutex_unlock(&t->lock);
	if (is_busy)
		return false;
	pthread_join(t->thread, NULL);
	free_questions(t);
	return true;
}

int nvml_thread_ask(struct nvml_thread *t, nvml_usage_cb cb, void *arg, uint64_t wait_ns)
{
	uint64_t until_ns = stream_now_ns() + wait_ns;
	struct timespec until = { (time_t)(until_ns / 1000000000), (long)(until_ns % 1000000000) };
	bool is_answered;

	pthread_mutex_lock(&t->lock);
	if (t->asked == ASKED_WAITS) {
		pthread_mutex_unlock(&t->lock);
		return -EAGAIN;
	}
	t->asked = ASKED_WAITS;
	pthread_cond_signal(&t->question);
	while (t->asked == ASKED_WAITS)
		if (pthread_cond_timedwait(&t->answer, &t->lock, &until))
			break;
	is_answered = t->asked == ASKED_ANSWERED;
	pthread_mutex_unlock(&t->lock);
	if (!is_answered)
		return -EAGAIN;
	for (size_t i = 0; i < t->count; i++)
		cb(&t->usages[i], arg);
	return t->err;
}

const struct nvml_gpu_memory *nvml_thread_gpus(const struct nvml_thread *t, size_t *count)
{
	*count = t->gpu_count;
	return t->gpus;
}
