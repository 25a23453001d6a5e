// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/elf/file_names.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/xalloc.h"

#define QUESTION_NS 5000000000ULL        /* the longest wait for one answer; 0.1 s is much on an idle machine */
#define FILE_NS 10000000000ULL           /* ... and for all slow answers about one file */
#define SLOW_NS 20000000ULL              /* most answers take 0.1 ms */

/* ---- messages ---- */

struct file_question {
	uint64_t vaddr;          /* FIND */
	uint32_t number;
	uint32_t reserved;
};

struct file_opened {
	struct image_shape shape;
	uint32_t wants_debug;
};

/* One frame of the answer to FIND, with room for the longest texts. */
struct file_frame {
	uint32_t line;
	uint32_t has_file;
	char function[SYMFILE_NAME_BYTES];
	char file[FILE_NAMES_PATH];
};

/* ---- the worker's side ---- */

struct open_file {
	uint32_t number;
	bool is_read;            /* else only the image is open */
	struct symfile file;
};

struct open_files {
	struct open_file **list;
	size_t count;
};

static struct open_files *files_of_state(void **state)
{
	if (!*state)
		*state = xcalloc(1, sizeof(struct open_files));
	return *state;
}

static bool read_question(const struct parse_task *task, struct file_question *question)
{
	if (task->size != sizeof(*question))
		return false;
	memcpy(question, task->data, sizeof(*question));
	return true;
}

/* Where the file stands in the list, or NULL. */
static struct open_file **find_open(struct open_files *files, uint32_t number)
{
	for (size_t i = 0; i < files->count; i++)
		if (files->list[i]->number == number)
			return &files->list[i];
	return NULL;
}

int file_names_serve_open(void **state, struct parse_task *task, struct parse_answer *answer)
{
	struct open_files *files = files_of_state(state);
	struct file_question question;
	struct file_opened *opened;
	struct open_file *file;
	struct image image;
	int err;

	if (!read_question(task, &question))
		return -EINVAL;
	err = image_open(&image, parse_take_fd(task));
	if (err)
		return err;
	file = xcalloc(1, sizeof(*file));
	file->number = question.number;
	file->file.image = image;
	files->list = xreallocarray(files->list, files->count + 1, sizeof(*files->list));
	files->list[files->count++] = file;
	opened = xcalloc(1, sizeof(*opened));
	image_shape(&image, &opened->shape);
	opened->wants_debug = symfile_wants_debug(&image);
	*answer = (struct parse_answer){ opened, sizeof(*opened) };
	return 0;
}

int file_names_serve_read(void **state, struct parse_task *task, struct parse_answer *answer)
{
	struct file_question question;
	struct image image, debug;
	struct open_file **found;
	bool has_debug;
	uint64_t *bytes;

	if (!read_question(task, &question))
		return -EINVAL;
	found = find_open(files_of_state(state), question.number);
	if (!found || (*found)->is_read)
		return -ESTALE;
	image = (*found)->file.image;
	has_debug = !image_open(&debug, parse_take_fd(task));
	symfile_open(&(*found)->file, &image, has_debug && !strcmp(debug.build_id, image.build_id) ? &debug : NULL);
	(*found)->is_read = true;
	if (has_debug)
		image_close(&debug);
	bytes = xmalloc(sizeof(*bytes));
	*bytes = (*found)->file.bytes;
	*answer = (struct parse_answer){ bytes, sizeof(*bytes) };
	return 0;
}

static void fill_frame(struct file_frame *to, const struct symfile_frame *from)
{
	size_t len = from->file ? strlen(from->file) : 0;
	size_t cut = len < sizeof(to->file) ? 0 : len - (sizeof(to->file) - 1);

	to->line = from->line;
	to->has_file = from->file != NULL;
	memcpy(to->function, from->function, strlen(from->function) + 1);
	if (from->file)
		memcpy(to->file, from->file + cut, len - cut);
}

int file_names_serve_find(void **state, struct parse_task *task, struct parse_answer *answer)
{
	struct file_question question;
	struct symfile_frames found;
	struct open_file **file;
	struct file_frame *frames;

	if (!read_question(task, &question))
		return -EINVAL;
	file = find_open(files_of_state(state), question.number);
	if (!file || !(*file)->is_read)
		return -ESTALE;
	symfile_find(&(*file)->file, question.vaddr, &found);
	if (image_has_changed(&(*file)->file.image)) /* names stay in the file until now */
		return -ESTALE;
	frames = xcalloc(found.count, sizeof(*frames));
	for (uint32_t i = 0; i < found.count; i++)
		fill_frame(&frames[i], &found.frames[i]);
	*answer = (struct parse_answer){ frames, found.count * sizeof(*frames) };
	return 0;
}

int file_names_serve_close(void **state, struct parse_task *task, struct parse_answer *answer)
{
	struct open_files *files = files_of_state(state);
	struct file_question question;
	struct open_file **file;

	(void)answer;
	if (!read_question(task, &question))
		return -EINVAL;
	file = find_open(files, question.number);
	if (!file)
		return 0;
	symfile_close(&(*file)->file);
	free(*file);
	*file = files->list[--files->count];
	return 0;
}

/* ---- the asker's side ---- */

static uint64_t time_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Asks about a file within what is left of its time. */
static int ask_worker(struct parse_client *client, struct file_names *names, enum parse_kind kind, uint64_t vaddr,
		      int fd, size_t most, struct parse_answer *answer)
{
	struct file_question data = { .vaddr = vaddr, .number = names->number };
	uint64_t left = FILE_NS - names->spent_ns, start = time_now();
	struct parse_question question = {
		.kind = kind, .owner = names->owner, .data = &data, .size = sizeof(data), .fds = { fd },
		.budget_ns = left < QUESTION_NS ? left : QUESTION_NS, .most = most, .about_state = kind != PARSE_OPEN,
	};
	int err;

	*answer = (struct parse_answer){ 0 };
	if (names->spent_ns >= FILE_NS)
		return parse_time_is_up(client, FILE_NS);
	err = parse_ask(client, &question, answer);
	start = time_now() - start;
	names->spent_ns += start > SLOW_NS ? start : 0;
	return err;
}

/* The answer to an opening: what the headers say, and whether a debug file is wanted. */
static int take_opened(struct parse_client *client, const struct file_names *names, const struct parse_answer *answer,
		       struct image *shape, bool *wants_debug)
{
	const struct file_opened *opened = answer->data;

	if (answer->size != sizeof(*opened) || !image_of_shape(shape, &opened->shape))
		return parse_refuse(client, names->owner);
	*wants_debug = opened->wants_debug;
	return 0;
}

/* The debug file comes from the same owner or from root: another user has no say in this file's names. */
static int open_debug(const struct modules *modules, const struct image *shape, uint32_t owner)
{
	struct source_file debug;

	if (source_open_debug(modules, shape->build_id, &debug))
		return -1;
	if (debug.owner == owner || !debug.owner)
		return debug.fd;
	close(debug.fd);
	return -1;
}

static int read_names(struct parse_client *client, struct file_names *names, int debug_fd)
{
	struct parse_answer answer;
	uint64_t bytes = 0;
	int err = ask_worker(client, names, PARSE_READ, 0, debug_fd, sizeof(bytes), &answer);

	if (!err && answer.size != sizeof(bytes))
		err = parse_refuse(client, names->owner);
	if (!err)
		memcpy(&bytes, answer.data, sizeof(bytes));
	names->bytes = bytes < PARSE_MEMORY ? bytes : PARSE_MEMORY;
	free(answer.data);
	return err;
}

int file_names_open(struct parse_client *client, uint32_t number, const struct modules *modules,
		    const struct module_map *map, struct file_names *names, struct image *shape)
{
	struct parse_answer answer;
	struct source_file file;
	bool wants_debug = false;
	int err = source_open_module(modules, map, &file), debug_fd = -1;

	if (err)
		return err;
	*names = (struct file_names){ .owner = file.owner, .number = number };
	err = ask_worker(client, names, PARSE_OPEN, 0, file.fd, sizeof(struct file_opened), &answer);
	close(file.fd);
	if (!err)
		err = take_opened(client, names, &answer, shape, &wants_debug);
	free(answer.data);
	if (err)
		return err;
	if (wants_debug)
		debug_fd = open_debug(modules, shape, names->owner);
	err = read_names(client, names, debug_fd);
	if (debug_fd >= 0)
		close(debug_fd);
	return err;
}

/* Every text ends within its room. */
static bool are_frames(const struct file_frame *frames, size_t size)
{
	size_t count = size / sizeof(*frames);

	if (!count || count > LINES_DEPTH || size % sizeof(*frames))
		return false;
	for (size_t i = 0; i < count; i++)
		if (frames[i].function[sizeof(frames->function) - 1] || frames[i].file[sizeof(frames->file) - 1])
			return false;
	return true;
}

int file_names_find(struct parse_client *client, struct file_names *names, uint64_t vaddr,
		    struct symfile_frames *found)
{
	const struct file_frame *frames;
	struct parse_answer answer;
	int err = ask_worker(client, names, PARSE_NAME, vaddr, -1, LINES_DEPTH * sizeof(*frames), &answer);

	free(names->texts);
	names->texts = answer.data;
	frames = answer.data;
	if (err)
		return err;
	if (!are_frames(frames, answer.size))
		return parse_refuse(client, names->owner);
	found->count = (uint32_t)(answer.size / sizeof(*frames));
	for (uint32_t i = 0; i < found->count; i++) {
		memcpy(found->frames[i].function, frames[i].function, sizeof(frames->function));
		found->frames[i].file = frames[i].has_file ? frames[i].file : NULL;
		found->frames[i].line = frames[i].line;
	}
	return 0;
}

void file_names_close(struct parse_client *client, struct file_names *names)
{
	struct parse_answer answer;

	ask_worker(client, names, PARSE_CLOSE, 0, -1, 0, &answer);
	free(answer.data);
	free(names->texts);
	names->texts = NULL;
}
