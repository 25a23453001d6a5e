// SPDX-License-Identifier: BSD-2-Clause
/* See modules.h. Names of mappings: proc_pid_maps(5), fs/proc/task_mmu.c of Linux 6.18. */
#include "symbol/elf/modules.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/count.h"
#include "base/hash.h"
#include "base/maps.h"
#include "base/scan.h"
#include "base/sorted.h"
#include "base/xalloc.h"

#define NO_MAP UINT32_MAX       /* a module's first mapping is not added yet */
#define NO_MODULE UINT32_MAX
#define PATHS_MAX (16u << 20)   /* bytes of different paths: a process may map one file under thousands of long ones */

static const char *const kind_names[] = {
	[MODULE_FILE] = "[file]",
	[MODULE_VDSO] = "[vdso]",
	[MODULE_VSYSCALL] = "[vsyscall]",
	[MODULE_ANONYMOUS] = "[anon]",
};

/* No path leads to the files of these mappings, and the process writes their bytes. */
static enum module_kind kind_of_mapping(const struct maps_line *line)
{
	static const struct {
		const char *start;
		enum module_kind kind;
	} special[] = {
		{ "[vdso]", MODULE_VDSO },
		{ "[vsyscall]", MODULE_VSYSCALL },
		{ "[", MODULE_ANONYMOUS },
		{ "anon_inode:", MODULE_ANONYMOUS },
		{ "/memfd:", MODULE_ANONYMOUS },
		{ "/dev/zero", MODULE_ANONYMOUS },
		{ "//anon", MODULE_ANONYMOUS },
		{ "/SYSV", MODULE_ANONYMOUS },
	};

	for (size_t i = 0; i < COUNT(special); i++) {
		size_t len = strlen(special[i].start);

		if (line->path_len >= len && !memcmp(line->path, special[i].start, len))
			return special[i].kind;
	}
	return line->path_len && line->ino ? MODULE_FILE : MODULE_ANONYMOUS;
}

/* The kernel writes a newline as \012 (seq_path), but a backslash as it is. So only \012 is undone. */
static char *copy_path(const char *text, size_t len)
{
	char *path = xmalloc(len + 1);
	size_t to = 0;

	for (size_t i = 0; i < len; i++) {
		if (len - i >= 4 && !memcmp(text + i, "\\012", 4)) {
			path[to++] = '\n';
			i += 3;
		} else {
			path[to++] = text[i];
		}
	}
	path[to] = '\0';
	return path;
}

static const char *name_of_module(const struct module *module)
{
	const char *slash = strrchr(module->path, '/');

	if (slash && slash[1])
		return slash + 1;
	return module->path[0] ? module->path : kind_names[module->kind];
}

static bool shows_same_file(const struct module *a, const struct module *b)
{
	return a->kind == b->kind && a->dev == b->dev && a->ino == b->ino && a->deleted == b->deleted &&
	       !strcmp(a->path, b->path);
}

/* ---- a parse ---- */

/* A process may map tens of thousands of files: each line finds its module by a hash. */
struct parse {
	struct modules *modules;
	struct hash known;      /* key_of_module() and a few numbers behind it: the index, uint32_t */
	size_t path_bytes;
	size_t bad;             /* damaged lines */
};

#define SAME_KEY_MAX 8          /* modules; a process that forges more gets its modules several times */

static uint64_t key_of_module(const struct module *module)
{
	uint64_t key = module->ino ^ module->dev << 40 ^ (uint64_t)module->kind << 60 ^ (uint64_t)module->deleted << 59;

	for (const char *c = module->path; *c; c++)
		key = (key ^ (unsigned char)*c) * 0x100000001b3ull; /* FNV-1a, 64 bits */
	return key;
}

/* The index of the module that a mapping shows; adds the module if it is new. NO_MODULE: its path finds no room. */
static uint32_t module_index(struct parse *parse, const struct maps_line *line)
{
	struct module module = { .kind = kind_of_mapping(line), .path = copy_path(line->path, line->path_len) };
	struct modules *modules = parse->modules;
	uint32_t *index = NULL;
	uint64_t key;

	if (module.kind == MODULE_FILE) {
		module.dev = makedev(line->dev_major, line->dev_minor);
		module.ino = line->ino;
		module.deleted = line->deleted;
	}
	key = key_of_module(&module);
	for (unsigned int i = 0; i < SAME_KEY_MAX; i++, key++) {
		index = hash_get(&parse->known, key);
		if (!index || shows_same_file(&modules->list[*index], &module))
			break;
	}
	if (index && shows_same_file(&modules->list[*index], &module)) {
		free(module.path);
		return *index;
	}
	if (line->path_len > PATHS_MAX - parse->path_bytes) {
		free(module.path);
		return NO_MODULE;
	}
	parse->path_bytes += line->path_len;
	module.name = name_of_module(&module);
	modules->list = xgrow(modules->list, modules->count, sizeof(*modules->list));
	module.first = NO_MAP;
	modules->list[modules->count] = module;
	if (!index)
		*(uint32_t *)hash_put(&parse->known, key, NULL) = (uint32_t)modules->count;
	return (uint32_t)modules->count++;
}

/* Adds a mapping behind the others. */
static void add_map(struct modules *modules, const struct module_map *added, uint32_t module)
{
	struct module *of = &modules->list[module];
	uint32_t at = (uint32_t)modules->map_count;

	modules->maps = xgrow(modules->maps, modules->map_count, sizeof(*modules->maps));
	modules->maps[modules->map_count++] = *added;
	modules->maps[at].module = module;
	modules->maps[at].next = 0;
	if (of->first == NO_MAP)
		of->first = at;
	else
		modules->maps[of->last].next = at;
	of->last = at;
}

/* False: the mapping is empty, or does not lie behind the others. */
static bool add_line(struct parse *parse, const struct maps_line *line)
{
	struct modules *modules = parse->modules;
	uint32_t module;

	if (line->end <= line->start ||
	    (modules->map_count && line->start < modules->maps[modules->map_count - 1].end))
		return false;
	module = module_index(parse, line);
	if (module == NO_MODULE)
		modules->left_out++;
	else
		add_map(modules, &(struct module_map){ .start = line->start, .end = line->end,
						       .offset = line->offset }, module);
	return true;
}

static void begin_parse(struct parse *parse, struct modules *modules, uint32_t pid)
{
	*parse = (struct parse){ .modules = modules };
	modules_fini(modules);
	modules->pid = pid;
	hash_init(&parse->known, sizeof(uint32_t));
}

static void parse_row(struct parse *parse, const char *text, size_t len)
{
	struct maps_line line;

	if (maps_parse_line(text, len, &line))
		parse->bad++;
	else if (line.executable)
		parse->bad += !add_line(parse, &line);
}

size_t modules_parse(struct modules *modules, uint32_t pid, const char *text, size_t len)
{
	struct scan all = { text, text + len }, row;
	struct parse parse;

	begin_parse(&parse, modules, pid);
	while (scan_line(&all, &row))
		parse_row(&parse, row.at, (size_t)(row.end - row.at));
	hash_fini(&parse.known);
	return parse.bad;
}

static int parse_next(const char *text, size_t len, void *arg)
{
	parse_row(arg, text, len);
	return 0;
}

int modules_read(struct modules *modules, uint32_t pid)
{
	struct modules read_now = { 0 };
	struct parse parse;
	char path[64];
	int fd, err;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	begin_parse(&parse, &read_now, pid);
	err = maps_read(fd, parse_next, &parse);
	close(fd);
	hash_fini(&parse.known);
	if (err == -EFBIG) {
		read_now.left_out++; /* at least */
		err = 0;
	}
	modules_fini(err ? &read_now : modules);
	if (!err)
		*modules = read_now;
	return err;
}

void modules_fini(struct modules *modules)
{
	for (size_t i = 0; i < modules->count; i++)
		free(modules->list[i].path);
	free(modules->list);
	free(modules->maps);
	*modules = (struct modules){ 0 };
}

/* Marks up to `room` mappings, from `from` downwards, of files or of anything. Returns the room that is left. */
static size_t mark_kept(const struct modules *modules, bool *is_kept, size_t from, size_t room, bool files_only)
{
	for (size_t i = from; i-- && room;) {
		if (is_kept[i] || (files_only && modules_of(modules, &modules->maps[i])->kind != MODULE_FILE))
			continue;
		is_kept[i] = true;
		room--;
	}
	return room;
}

/* Takes the kept mappings, and their modules, from a former list. */
static void take_kept(struct modules *modules, struct modules *former, const bool *is_kept)
{
	uint32_t *numbers = xcalloc(former->count + 1, sizeof(*numbers)); /* new numbers + 1 */

	for (size_t i = 0; i < former->map_count; i++) {
		struct module *module = &former->list[former->maps[i].module];
		uint32_t *number = &numbers[former->maps[i].module];

		if (!is_kept[i])
			continue;
		if (!*number) {
			modules->list = xgrow(modules->list, modules->count, sizeof(*modules->list));
			modules->list[modules->count] = *module;
			modules->list[modules->count].first = NO_MAP;
			*number = (uint32_t)++modules->count;
			module->path = NULL;
		}
		add_map(modules, &former->maps[i], *number - 1);
	}
	free(numbers);
}

void modules_limit(struct modules *modules, size_t most)
{
	struct modules former = *modules;
	bool *is_kept;
	size_t room = most - MODULES_LOWEST;

	if (former.map_count <= most)
		return;
	is_kept = xcalloc(former.map_count, sizeof(*is_kept));
	mark_kept(modules, is_kept, MODULES_LOWEST, MODULES_LOWEST, false);
	room = mark_kept(modules, is_kept, former.map_count, room, true);
	mark_kept(modules, is_kept, former.map_count, room, false);
	*modules = (struct modules){ .pid = former.pid, .has_our_paths = former.has_our_paths,
				     .left_out = former.left_out + former.map_count - most };
	take_kept(modules, &former, is_kept);
	free(is_kept);
	modules_fini(&former);
}

struct module_map *modules_find(const struct modules *modules, uint64_t address)
{
	size_t count = sorted_count(modules->maps, modules->map_count, sizeof(*modules->maps), address);

	return count && address < modules->maps[count - 1].end ? &modules->maps[count - 1] : NULL;
}

void modules_set_image(struct modules *modules, uint32_t module, const struct image *image)
{
	memcpy(modules->list[module].build_id, image->build_id, sizeof(image->build_id));
	for (struct module_map *map = modules_first(modules, module); map; map = modules_next(modules, map)) {
		uint64_t vaddr;

		if (map->has_bias || !image_code_vaddr(image, map->offset, &vaddr))
			continue;
		map->bias = map->start - vaddr;
		map->has_bias = true;
	}
}

uint64_t modules_vaddr(const struct module_map *map, uint64_t address)
{
	return map->has_bias ? address - map->bias : address - map->start + map->offset;
}
