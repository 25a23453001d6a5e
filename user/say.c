// SPDX-License-Identifier: BSD-2-Clause
#include "say.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"

/* Longer texts are cut: two paths fit. A message needs no memory, as it may speak of the lack of memory. */
#define SAY_BYTES 9216
#define KEPT_MAX 256         /* messages; older ones are only counted */

/* Any part of the program speaks, so there is one list for all. */
static struct {
	pthread_mutex_t lock;
	bool is_on, is_held;
	char *list[KEPT_MAX];    /* a ring; NULL: no memory was left */
	size_t count;            /* ever */
} kept = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void print_message(const char *text)
{
	/* One write, so that the line stays whole beside other output. */
	fprintf(stderr, "gpumemtrace: %s\n", text);
}

/* Whether the message waits for say_release(). */
static bool keep_message(const char *text)
{
	bool is_held;

	pthread_mutex_lock(&kept.lock);
	is_held = kept.is_on && kept.is_held;
	if (kept.is_on) {
		char **place = &kept.list[kept.count++ % KEPT_MAX];

		free(*place);
		*place = strdup(text);
	}
	pthread_mutex_unlock(&kept.lock);
	return is_held;
}

void say(const char *format, ...)
{
	char text[SAY_BYTES], clean[4 * SAY_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	/* Names of processes, paths and symbols are foreign text: a terminal could obey it. */
	human_text(clean, SAY_BYTES, text, strlen(text));
	if (!keep_message(clean))
		print_message(clean);
}

void say_keep(bool is_held)
{
	pthread_mutex_lock(&kept.lock);
	kept.is_on = true;
	kept.is_held = is_held;
	pthread_mutex_unlock(&kept.lock);
}

void say_release(void)
{
	size_t first;

	pthread_mutex_lock(&kept.lock);
	first = kept.count < KEPT_MAX ? 0 : kept.count - KEPT_MAX;
	if (kept.is_held && first)
		fprintf(stderr, "gpumemtrace: %zu earlier %s left out here\n", first,
			human_plural(first, "message is", "messages are"));
	for (size_t i = first; i < kept.count; i++) {
		char **place = &kept.list[i % KEPT_MAX];

		if (kept.is_held && *place)
			print_message(*place);
		free(*place);
		*place = NULL;
	}
	kept.count = 0;
	kept.is_on = kept.is_held = false;
	pthread_mutex_unlock(&kept.lock);
}

size_t say_newest(char *copies[SAY_SHOWN])
{
	size_t count = 0, first;

	pthread_mutex_lock(&kept.lock);
	first = kept.count < SAY_SHOWN ? 0 : kept.count - SAY_SHOWN;
	for (size_t i = first; i < kept.count; i++) {
		const char *text = kept.list[i % KEPT_MAX];

		if (text && (copies[count] = strdup(text)))
			count++;
	}
	pthread_mutex_unlock(&kept.lock);
	return count;
}
