// SPDX-License-Identifier: BSD-2-Clause
#include "output_clash.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/out_file.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "cli/cli.h"
#include "say.h"
#include "sink/sink.h"

#define OUTPUTS_MAX (SINKS_MAX + 2) /* a recording, and a format */

struct identity {
	bool is_known;
	dev_t dev;
	ino_t ino;
};

/* A name that leads to a regular file, or to none yet. */
struct place {
	const char *name;
	struct identity file, folder;
};

struct places {
	struct place list[OUTPUTS_MAX];
	size_t count;
};

static bool is_same_inode(const struct identity *a, const struct identity *b)
{
	return a->is_known && b->is_known && a->dev == b->dev && a->ino == b->ino;
}

static bool would_meet(const struct place *a, const struct place *b)
{
	return is_same_inode(&a->file, &b->file) ||
	       (is_same_inode(&a->folder, &b->folder) && !strcmp(path_base(a->name), path_base(b->name)));
}

/* False: the output goes to standard output, to a pipe or to a device, where several may go. */
static bool locate_output(const char *name, struct place *place)
{
	char folder[PATH_MAX];
	struct stat st;

	*place = (struct place){ .name = name };
	if (!name || !strcmp(name, "-"))
		return false;
	if (!stat(name, &st)) {
		if (!S_ISREG(st.st_mode))
			return false;
		place->file = (struct identity){ true, st.st_dev, st.st_ino };
	}
	out_file_folder(name, folder);
	if (!stat(folder, &st))
		place->folder = (struct identity){ true, st.st_dev, st.st_ino };
	return true;
}

/* "run.gmt@peak" is of run.gmt, if there is no file of the whole name. */
static bool find_input(const char *name, struct place *place)
{
	const char *sign = name ? strrchr(name, '@') : NULL;
	char *path;

	if (locate_output(name, place) && place->file.is_known)
		return true;
	if (!sign)
		return false;
	path = xstrdup(name);
	path[sign - name] = '\0';
	locate_output(path, place);
	place->name = name; /* the file alone is compared */
	place->folder.is_known = false;
	free(path);
	return place->file.is_known;
}

static int add_output(struct places *outputs, const char *name)
{
	struct place *place = &outputs->list[outputs->count];

	if (!locate_output(name, place))
		return 0;
	for (size_t i = 0; i < outputs->count; i++) {
		if (!would_meet(&outputs->list[i], place))
			continue;
		say("two outputs would be written to '%s': give each of them a name of its own", name);
		return -EEXIST;
	}
	outputs->count++;
	return 0;
}

static int check_input(const struct places *outputs, const char *name)
{
	struct place input;

	if (!find_input(name, &input))
		return 0;
	for (size_t i = 0; i < outputs->count; i++) {
		if (!would_meet(&outputs->list[i], &input))
			continue;
		say("'%s' is the recording that is read: give the output another name", outputs->list[i].name);
		return -EEXIST;
	}
	return 0;
}

int output_clash(const struct options *options)
{
	struct places outputs = { .count = 0 };
	int err = add_output(&outputs, options->output) ?: add_output(&outputs, options->format_path);

	for (size_t i = 0; !err && sinks[i]; i++)
		err = add_output(&outputs, options->files[i]);
	if (!err)
		err = check_input(&outputs, options->input);
	for (size_t i = 0; !err && i < options->more.count; i++)
		err = check_input(&outputs, options->more.texts[i]);
	return err;
}
