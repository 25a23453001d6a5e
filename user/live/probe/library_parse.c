// SPDX-License-Identifier: BSD-2-Clause
/*
 * The thread that asks also empties the ring, so the waits are short: libtorch_cpu, the largest library, takes 30 ms
 * (tests/bench/tables.c). Each file has a worker of its own, which ends at once: libraries are few, and memory that a
 * large symbol table took is not kept.
 */
#include "live/probe/library_parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/xalloc.h"

#define LIBRARY_NS 1000000000ULL

/* ---- the worker's side ---- */

/* A pointer to a constant of the program means the same in the worker, which was forked from it. */
static const void *take_pointer(const struct parse_task *task)
{
	const void *pointer = NULL;

	if (task->size == sizeof(pointer))
		memcpy(&pointer, task->data, sizeof(pointer));
	return pointer;
}

int library_serve(void **state, struct parse_task *task, struct parse_answer *answer)
{
	const struct library_kind *kind = take_pointer(task);
	struct library *lib = xcalloc(1, sizeof(*lib));

	(void)state;
	*answer = (struct parse_answer){ lib, sizeof(*lib) };
	return kind ? library_read(parse_take_fd(task), kind, lib) : -EINVAL;
}

int library_serve_points(void **state, struct parse_task *task, struct parse_answer *answer)
{
	const struct library_point *point = take_pointer(task);
	struct usdt_place *places = xcalloc(LIBRARY_POINTS, sizeof(*places));
	int count = -EINVAL;

	(void)state;
	if (point)
		count = usdt_find(parse_take_fd(task), point->provider, point->name, point->args, places,
				  LIBRARY_POINTS);
	*answer = (struct parse_answer){ places, (count > 0 ? (size_t)count : 0) * sizeof(*places) };
	return count < 0 ? count : 0;
}

/* ---- the asker's side ---- */

static int ask_new_worker(struct parse_client *client, int fd, uint32_t owner, enum parse_kind kind,
			  const void *pointer, size_t most, struct parse_answer *answer)
{
	struct parse_question question = {
		.kind = kind, .owner = owner, .data = &pointer, .size = sizeof(pointer), .fds = { fd },
		.budget_ns = LIBRARY_NS, .most = most,
	};
	int err = parse_ask(client, &question, answer);

	parse_client_rest(client);
	return err;
}

int library_ask(struct parse_client *client, const char *path, const struct library_kind *kind, struct library *lib)
{
	struct parse_answer answer;
	int fd = library_open_file(path, kind, lib), err;

	if (fd < 0)
		return fd;
	err = ask_new_worker(client, fd, lib->owner, PARSE_LIBRARY, kind, sizeof(*lib), &answer);
	close(fd);
	/* A damaged file is an error with an answer, which says what is wrong. */
	if ((!err || answer.size) && (answer.size != sizeof(*lib) || !library_take(lib, answer.data)))
		err = parse_refuse(client, lib->owner);
	free(answer.data);
	if (parse_gave_up(err))
		snprintf(lib->why, sizeof(lib->why), "the file %s", parse_why(client, err));
	return err;
}

static bool are_places(const struct parse_answer *answer, const struct usdt_place *places, uint64_t file_size)
{
	for (size_t i = 0; i < answer->size / sizeof(*places); i++)
		if (!usdt_is_sound(&places[i], file_size))
			return false;
	return answer->size % sizeof(*places) == 0;
}

int library_ask_points(struct parse_client *client, const char *path, const struct library_point *point,
		       struct usdt_place places[LIBRARY_POINTS])
{
	struct parse_answer answer;
	struct library lib;
	int fd = library_open_file(path, NULL, &lib), err;

	if (fd < 0)
		return fd;
	err = ask_new_worker(client, fd, lib.owner, PARSE_POINTS, point, LIBRARY_POINTS * sizeof(*places), &answer);
	close(fd);
	if (!err && !are_places(&answer, answer.data, lib.size))
		err = parse_refuse(client, lib.owner);
	if (!err && answer.size)
		memcpy(places, answer.data, answer.size);
	free(answer.data);
	return err ? err : (int)(answer.size / sizeof(*places));
}
