// SPDX-License-Identifier: BSD-2-Clause
#include "say.h"

#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/human.h"
#include "base/out.h"

/* Longer texts are cut: two paths fit. A message needs no memory, as it may speak of the lack of memory. */
#define SAY_BYTES 9216
#define KEPT_MAX 256         /* messages; older ones are only counted */

/* Any part of the program speaks, so there is one list for all. */
static struct {
	pthread_mutex_t lock;
	bool is_on, is_held;
	char *list[KEPT_MAX];    /* a ring; NULL: no memory was left */
	uint64_t at_ns[KEPT_MAX];
	size_t count;            /* ever */
	bool is_hurried;         /* atomic: no message waits for a reader */
} kept = { .lock = PTHREAD_MUTEX_INITIALIZER };

#define PIECE_BYTES 256      /* a terminal that is ready takes as much, as a rule */

/* Another thread may have the lock of stderr, and wait for the reader. */
static void write_what_fits(const char *text, size_t size)
{
	struct pollfd reader = { .fd = STDERR_FILENO, .events = POLLOUT };

	while (size && poll(&reader, 1, 0) > 0 && !(reader.revents & (POLLERR | POLLHUP))) {
		ssize_t done = write(STDERR_FILENO, text, size < PIECE_BYTES ? size : PIECE_BYTES);

		if (done <= 0)
			return;
		text += done;
		size -= (size_t)done;
	}
}

static void print_message(const char *text)
{
	char line[4 * SAY_BYTES + 32];
	unsigned width, height;

	snprintf(line, sizeof(line), "gpumemtrace: %s\n", text);
	if (!out_terminal_size(STDERR_FILENO, &width, &height))
		human_wrap(line, width);
	/* One write, so that the line stays whole beside other output. */
	if (__atomic_load_n(&kept.is_hurried, __ATOMIC_ACQUIRE))
		write_what_fits(line, strlen(line));
	else
		fputs(line, stderr);
}

static uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

/* Whether the message waits for say_release(). */
static bool keep_message(const char *text)
{
	bool is_held;

	pthread_mutex_lock(&kept.lock);
	is_held = kept.is_on && kept.is_held;
	if (kept.is_on) {
		char **place = &kept.list[kept.count++ % KEPT_MAX];

		kept.at_ns[place - kept.list] = monotonic_ns();
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

void say_hurry(void)
{
	__atomic_store_n(&kept.is_hurried, true, __ATOMIC_RELEASE);
}

/* Moves the messages into the ring `list`. Returns their number, also of those that are in the ring no more. */
static size_t take_messages(char *list[KEPT_MAX], bool *is_held)
{
	size_t count;

	pthread_mutex_lock(&kept.lock);
	memcpy(list, kept.list, sizeof(kept.list));
	memset(kept.list, 0, sizeof(kept.list));
	*is_held = kept.is_held;
	count = kept.count;
	kept.count = 0;
	kept.is_on = kept.is_held = false;
	pthread_mutex_unlock(&kept.lock);
	return count;
}

/* Printing may wait for a reader, so no lock is held meanwhile. */
void say_release(void)
{
	char *list[KEPT_MAX], text[64];
	size_t count, first;
	bool is_held;

	count = take_messages(list, &is_held);
	first = count < KEPT_MAX ? 0 : count - KEPT_MAX;
	snprintf(text, sizeof(text), "%zu earlier %s left out here", first,
		 human_plural(first, "message is", "messages are"));
	if (is_held && first)
		print_message(text);
	for (size_t i = first; i < count; i++) {
		if (is_held && list[i % KEPT_MAX])
			print_message(list[i % KEPT_MAX]);
		free(list[i % KEPT_MAX]);
	}
}

size_t say_newest(struct said copies[SAY_SHOWN])
{
	size_t count = 0, first;

	pthread_mutex_lock(&kept.lock);
	first = kept.count < SAY_SHOWN ? 0 : kept.count - SAY_SHOWN;
	for (size_t i = first; i < kept.count; i++) {
		const char *text = kept.list[i % KEPT_MAX];

		copies[count] = (struct said){ text ? strdup(text) : NULL, kept.at_ns[i % KEPT_MAX] };
		count += copies[count].text != NULL;
	}
	pthread_mutex_unlock(&kept.lock);
	return count;
}
