// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/symbolizer.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "base/hash.h"
#include "symbol/elf/demangle.h"
#include "symbol/elf/elfsym.h"
#include "symbol/intern.h"
#include "symbol/elf/lines.h"

#define NAME_BYTES 1024              /* while a name is made readable */
#define NAME_WIDTH 160               /* of function names, see demangle_short() */
#define OPEN_BYTES ((size_t)512 << 20) /* symbols and debug information of open files */

/* A file, which all processes share. */
struct file {
	const char *name, *path;
	struct hash answers;        /* key_of_place() -> struct symbol_frames * */
	bool was_open;              /* `shape` is known */
	bool is_open;
	bool has_failed;            /* it could not be opened through this process: */
	uint32_t failed_pid;
	uint64_t used;              /* the symbolizer's count at the last use */
	size_t bytes;
	struct image shape;         /* headers of the file, also good when the file is closed */
	struct image image;
	struct elfsym symbols;
	struct lines *lines;
};

struct symbolizer {
	const struct symbol_source *source;
	size_t files_max;
	struct hash by_key;         /* identity of a file -> index + 1 */
	struct file **files;
	size_t count;
	struct intern texts;
	struct hash nowhere;        /* address in no mapping -> struct symbol_frames * */
	uint64_t asked;             /* questions so far */
	size_t open_count, open_bytes;
};

struct symbolizer *symbolizer_new(const struct symbol_source *source, size_t files_max)
{
	struct symbolizer *s = xcalloc(1, sizeof(*s));

	s->source = source;
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
	lines_close(file->lines); /* before the bytes that it reads */
	file->lines = NULL;
	elfsym_fini(&file->symbols);
	image_close(&file->image);
	file->is_open = false;
	s->open_bytes -= file->bytes;
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

	key = hash_of_bytes(HASH_SEED, identity, sizeof(identity));
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

/* Reads the debug file only for what the file itself lacks. */
static void read_symbols(struct symbolizer *s, struct file *file, const struct modules *modules)
{
	struct image debug = { .fd = -1 };
	bool has_debug = false;
	bool complete = image_section(&file->image, ".symtab", 0) &&
			image_section(&file->image, ".debug_info", 0);

	if (!complete && file->image.build_id[0])
		has_debug = !s->source->open_debug(modules, file->image.build_id, &debug);
	elfsym_read(&file->symbols, &file->image, has_debug ? &debug : NULL);
	file->lines = lines_open(&file->image);
	if (!file->lines && has_debug)
		file->lines = lines_open(&debug);
	if (has_debug)
		image_close(&debug);
	file->bytes = elfsym_bytes(&file->symbols) + lines_bytes(file->lines);
}

static void open_file(struct symbolizer *s, struct file *file, const struct modules *modules,
		      const struct module_map *map)
{
	if (file->is_open || (file->has_failed && file->failed_pid == modules->pid) ||
	    modules_of(modules, map)->kind > MODULE_VDSO)
		return;
	if (s->source->open_module(modules, map, &file->image)) {
		file->has_failed = true;
		file->failed_pid = modules->pid;
		return;
	}
	read_symbols(s, file, modules);
	file->shape = file->image;
	file->shape.fd = -1;
	file->shape.bytes = file->shape.owned = NULL;
	file->shape.sections = NULL;
	file->shape.section_names = NULL;
	file->shape.section_count = 0;
	file->is_open = file->was_open = true;
	s->open_count++;
	s->open_bytes += file->bytes;
	close_oldest(s, file);
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

static const char *readable_name(struct symbolizer *s, const char *symbol)
{
	char name[NAME_BYTES];

	if (!symbol)
		return NULL;
	demangle_short(symbol, NAME_WIDTH, name, sizeof(name));
	return intern(&s->texts, name);
}

static struct symbol_frames *look_up_frames(struct symbolizer *s, struct file *file, uint64_t vaddr, bool is_return,
					    bool is_vaddr)
{
	struct lines_place places[LINES_DEPTH] = { { 0 } };
	uint64_t asked = vaddr - is_return; /* a call may be the last instruction of its function */
	size_t count = is_vaddr && file->lines ? lines_find(file->lines, asked, places, LINES_DEPTH) : 0;
	struct symbol_frames *frames = new_frames(count ? count : 1);
	const char *symbol = NULL;

	if (is_vaddr && file->is_open)
		symbol = elfsym_find(&file->symbols, &file->image, asked);
	for (size_t i = 0; i < frames->count; i++) {
		bool inlined = i + 1 < frames->count;

		frames->frames[i] = (struct symbol_frame){
			.function = readable_name(s, inlined ? places[i].function : symbol),
			.module = file->name,
			.path = file->path,
			.file = intern(&s->texts, places[i].file),
			.line = places[i].line,
			.inlined = inlined,
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
		*slot = look_up_frames(s, file, vaddr, is_return, is_vaddr);
	return *slot;
}
