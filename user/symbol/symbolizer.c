// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/symbolizer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "base/hash.h"
#include "symbol/elf/file_names.h"
#include "symbol/intern.h"

/* Symbols and debug information of open files; a worker's limit (PARSE_MEMORY) leaves room for the next file. The files
 * of a training with PyTorch take more than an eighth: with so little, they are read again for each stack. */
#define OPEN_BYTES (PARSE_MEMORY / 2)

/* A file, which all processes share. */
struct file {
	const char *name, *path;
	struct hash answers;        /* key_of_place() -> struct symbol_frames * */
	bool was_open;              /* `shape` is known */
	bool is_open;
	bool is_refused;            /* it could not be read */
	bool is_told;               /* ... or has to wait, and the caller has heard of it */
	bool has_failed;            /* it could not be opened through this process: */
	uint32_t failed_pid;
	uint64_t used;              /* the symbolizer's count at the last use */
	struct image shape;         /* headers of the file, also good when the file is closed */
	struct file_names names;
};

struct symbolizer {
	struct parse_client *client;
	symbolizer_refused refused;
	void *arg;
	size_t files_max;
	struct hash by_key;         /* identity of a file -> index + 1 */
	struct file **files;
	size_t count;
	struct intern texts;
	struct hash nowhere;        /* address in no mapping -> struct symbol_frames * */
	uint64_t asked;             /* questions so far */
	size_t open_count, open_bytes;
	uint32_t opened;            /* files, each time that they were opened */
};

struct symbolizer *symbolizer_new(struct parse_client *client, size_t files_max, symbolizer_refused refused, void *arg)
{
	struct symbolizer *s = xcalloc(1, sizeof(*s));

	s->client = client;
	s->refused = refused;
	s->arg = arg;
	s->files_max = files_max;
	hash_init(&s->by_key, sizeof(uint32_t));
	hash_init(&s->nowhere, sizeof(struct symbol_frames *));
	intern_init(&s->texts);
	return s;
}

static void free_answers(struct hash *answers)
{
	size_t pos = 0;
	void *value;

	while (hash_next(answers, &pos, NULL, &value))
		free(*(struct symbol_frames **)value);
	hash_fini(answers);
}

static void close_file(struct symbolizer *s, struct file *file)
{
	if (!file->is_open)
		return;
	file_names_close(s->client, &file->names);
	file->is_open = false;
	s->open_bytes -= file->names.bytes;
	s->open_count--;
}

void symbolizer_free(struct symbolizer *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++) {
		close_file(s, s->files[i]);
		free_answers(&s->files[i]->answers);
		free(s->files[i]);
	}
	free(s->files);
	free_answers(&s->nowhere);
	hash_fini(&s->by_key);
	intern_fini(&s->texts);
	free(s);
}

/* A module has the same file in every process: by device, inode and path; without an inode by its build id, too. */
static struct file *file_of(struct symbolizer *s, const struct module *module)
{
	uint64_t identity[3] = { module->kind, module->dev, module->ino }, key;
	uint32_t *index;
	bool is_new;

	key = hash_of_bytes(hash_seed(&s->by_key), identity, sizeof(identity));
	key = hash_of_bytes(key, module->path, strlen(module->path));
	if (!module->ino)
		key = hash_of_bytes(key, module->build_id, strlen(module->build_id));
	index = hash_put(&s->by_key, key, &is_new);
	if (is_new) {
		struct file *file = xcalloc(1, sizeof(*file));

		s->files = xreallocarray(s->files, s->count + 1, sizeof(struct file *));
		s->files[s->count] = file;
		*index = (uint32_t)s->count++;
		file->name = intern(&s->texts, module->name);
		file->path = intern(&s->texts, module->path);
		hash_init(&file->answers, sizeof(struct symbol_frames *));
	}
	return s->files[*index];
}

static void close_oldest(struct symbolizer *s, const struct file *keep)
{
	while (s->open_count > 1 && (s->open_count > s->files_max || s->open_bytes > OPEN_BYTES)) {
		struct file *oldest = NULL;

		for (size_t i = 0; i < s->count; i++) {
			struct file *file = s->files[i];

			if (file->is_open && file != keep && (!oldest || file->used < oldest->used))
				oldest = file;
		}
		close_file(s, oldest);
	}
}

/* Files share a worker: what ended it may have been the memory of the others, or somebody from outside. */
static bool may_be_others_fault(int err)
{
	return err == -ESTALE || err == -EFAULT || err == -EOWNERDEAD || err == -ENOTRECOVERABLE ||
	       err == -ENOMEM;
}

/* A file that cannot be read has no names from now on, or for now if its owner has to wait. */
static void refuse_file(struct symbolizer *s, struct file *file, int err)
{
	close_file(s, file);
	file->is_refused = !parse_may_pass(err);
	if (s->refused && !(parse_may_pass(err) && file->is_told))
		s->refused(s->arg, file->path, err);
	file->is_told = true;
}

static void open_file(struct symbolizer *s, struct file *file, const struct modules *modules,
		      const struct module_map *map)
{
	int err;

	if (file->is_open || file->is_refused || (file->has_failed && file->failed_pid == modules->pid) ||
	    modules_of(modules, map)->kind > MODULE_VDSO)
		return;
	err = file_names_open(s->client, ++s->opened, modules, map, &file->names, &file->shape);
	if (may_be_others_fault(err)) /* another file of the worker's */
		err = file_names_open(s->client, ++s->opened, modules, map, &file->names, &file->shape);
	if (parse_gave_up(err)) {
		refuse_file(s, file, err);
	} else if (err) {
		file->has_failed = true;
		file->failed_pid = modules->pid;
	} else {
		file->is_open = file->was_open = true;
		s->open_count++;
		s->open_bytes += file->names.bytes;
		close_oldest(s, file);
	}
}

/* Four kinds of answers are kept apart. Some are for vaddrs, others for file offsets while the headers are unknown.
 * Some come from the open file, others do not: the file may open later through another process. */
static uint64_t key_of_place(uint64_t offset, bool is_return, bool is_vaddr, bool is_open)
{
	return offset << 1 | is_return | (uint64_t)!is_vaddr << 63 | (uint64_t)!is_open << 62;
}

static struct symbol_frames *new_frames(size_t count)
{
	struct symbol_frames *frames = xcalloc(1, sizeof(*frames) + count * sizeof(frames->frames[0]));

	frames->count = (uint32_t)count;
	return frames;
}

/* Asks the file's worker. If the worker was replaced or the file written to since the file was opened, the file is
 * opened again, once for a name. */
static void find_in_file(struct symbolizer *s, struct file *file, const struct modules *modules,
			 const struct module_map *map, uint64_t vaddr, struct symfile_frames *found)
{
	int err = file_names_find(s->client, &file->names, vaddr, found);

	if (may_be_others_fault(err)) {
		close_file(s, file);
		open_file(s, file, modules, map);
		if (file->is_open)
			err = file_names_find(s->client, &file->names, vaddr, found);
	}
	if (file->is_open && parse_gave_up(err))
		refuse_file(s, file, err);
	if (err)
		found->count = 0;
}

/* `asked`: a call may be the last instruction of its function. */
static struct symbol_frames *look_up_frames(struct symbolizer *s, struct file *file, const struct modules *modules,
					    const struct module_map *map, uint64_t vaddr, uint64_t asked)
{
	struct symfile_frames found;
	struct symbol_frames *frames;

	found.count = 0;
	if (file->is_open && map->has_bias)
		find_in_file(s, file, modules, map, asked, &found);
	frames = new_frames(found.count ? found.count : 1);
	frames->frames[0].module = file->name;
	frames->frames[0].path = file->path;
	frames->frames[0].offset = vaddr;
	for (size_t i = 0; i < found.count; i++) {
		const struct symfile_frame *from = &found.frames[i];

		frames->frames[i] = (struct symbol_frame){
			.function = intern(&s->texts, from->function[0] ? from->function : NULL),
			.module = file->name,
			.path = file->path,
			.file = intern(&s->texts, from->file),
			.line = from->line,
			.inlined = i + 1 < frames->count,
			.offset = vaddr,
		};
	}
	return frames;
}

static const struct symbol_frames *find_nowhere(struct symbolizer *s, uint64_t address)
{
	struct symbol_frames **slot = hash_put(&s->nowhere, address, NULL);

	if (!*slot) {
		*slot = new_frames(1);
		(*slot)->frames[0].offset = address;
	}
	return *slot;
}

const struct symbol_frames *symbolizer_find(struct symbolizer *s, struct modules *modules, uint64_t address,
					    bool is_return)
{
	/* a return address may lie just behind the mapping of its call */
	struct module_map *map = modules_find(modules, address - is_return);
	struct symbol_frames **slot;
	struct module *module;
	bool is_vaddr = true;
	struct file *file;
	uint64_t vaddr;

	s->asked++;
	if (!map)
		return find_nowhere(s, address);
	module = modules_of(modules, map);
	file = file_of(s, module);
	file->used = s->asked;
	if (!map->has_bias && module->kind <= MODULE_VDSO) {
		if (!file->was_open)
			open_file(s, file, modules, map);
		if (file->was_open)
			modules_set_image(modules, map->module, &file->shape);
	}
	is_vaddr = module->kind > MODULE_VDSO || map->has_bias;
	vaddr = module->kind <= MODULE_VDSO ? modules_vaddr(map, address) : address;
	slot = hash_get(&file->answers, key_of_place(vaddr, is_return, is_vaddr, true));
	if (slot)
		return *slot;
	open_file(s, file, modules, map);
	slot = hash_put(&file->answers, key_of_place(vaddr, is_return, is_vaddr, file->is_open), NULL);
	if (!*slot)
		*slot = look_up_frames(s, file, modules, map, vaddr, vaddr - is_return);
	return *slot;
}
