// SPDX-License-Identifier: BSD-2-Clause
#include "live/stacks/space_tables.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "live/process/procfs.h"
#include "live/stacks/bpf_tables.h"
#include "live/stacks/space.h"
#include "parse/client.h"
#include "symbol/elf/source.h"
#include "symbol/unwind/switchers.h"
#include "symbol/unwind/unwind_table.h"

static bool is_same_module(const struct module *a, const struct module *b)
{
	return a->kind == b->kind && a->dev == b->dev && a->ino == b->ino && !strcmp(a->path, b->path);
}

bool space_has_map(const struct modules *before, const struct module_map *old, const struct modules *now,
		   const struct module_map *map)
{
	return old->start == map->start && old->end == map->end && old->offset == map->offset &&
	       is_same_module(modules_of(before, old), modules_of(now, map));
}

/* ---- modules without a table ---- */

static void set_pending(struct space *space, uint32_t module)
{
	space->is_pending[module] = true;
	space->pending++;
	if (module < space->next_pending)
		space->next_pending = module;
}

/* The next module without a table; UINT32_MAX: there is none. */
static uint32_t take_pending(struct space *space)
{
	for (; space->next_pending < space->modules.count && space->pending; space->next_pending++) {
		if (!space->is_pending[space->next_pending])
			continue;
		space->is_pending[space->next_pending] = false;
		space->pending--;
		return space->next_pending++;
	}
	return UINT32_MAX;
}

/* Descriptors or memory have run out; or another file is at the path, or at the addresses since the list was read. */
static bool may_open_later(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -ENOMEM || err == -ESTALE;
}

static void postpone_module(struct space *space, uint32_t module)
{
	if (space->is_gone || space->retries >= SPACE_RETRIES)
		return;
	space->is_pending[module] = true;
	space->postponed++;
}

void space_retry_postponed(struct space *space)
{
	if (!space->postponed)
		return;
	space->retries++;
	space->postponed = space->pending = 0;
	for (uint32_t i = 0; i < space->modules.count; i++)
		if (space->is_pending[i])
			set_pending(space, i);
}

static bool is_python_module(const struct space *space, const struct module *module)
{
	return space->python_state == SPACE_PYTHON_FOUND && module->dev == space->python.dev &&
	       module->ino == space->python.ino;
}

/* The interpreter is in a file with "python" in its name, or in the program itself. */
static enum table_kind kind_of_table(const struct space *space, const struct module *module)
{
	if (switchers_has(module->name)) /* the names of Python's extensions contain "python", too */
		return TABLE_SWITCHER;
	if (is_python_module(space, module) || (space->with_python && strstr(module->name, "python")))
		return TABLE_PYTHON;
	return strncmp(module->name, "libc.so.", 8) ? TABLE_PLAIN : TABLE_LIBC;
}

/* Completes the mappings of a module from its file. */
static void place_module(struct space *space, uint32_t module, const struct image *image, const struct table *table)
{
	const struct modules *modules = &space->modules;
	const struct module_map *map = modules_first(modules, module);

	for (; map; map = modules_next(modules, map)) {
		struct gmt_unwind_mapping *mapping = &space->mappings[map - modules->maps];

		if (!unwind_table_map(image, map->start, map->end, map->offset, mapping))
			continue;
		mapping->slot = table->slot;
		mapping->pages = table->pages;
		mapping->flags = GMT_UNWIND_MAP_TABLE;
	}
}

void space_lose(struct space *space)
{
	space->is_gone = true;
	if (space->shares_mounts)
		space->modules.pid = 0;
}

/* A zombie still has its pid, but nothing mapped and no root. */
bool space_is_lost(struct space *space)
{
	pid_t reader = procfs_reader((pid_t)space->tgid);
	char root[32];

	snprintf(root, sizeof(root), "/proc/%d/root", (int)reader);
	if (!space->is_gone && access(root, F_OK) && errno == ENOENT)
		space_lose(space);
	else if (!space->is_gone && space->modules.pid)
		space->modules.pid = (uint32_t)reader;
	return space->is_gone;
}

static int open_module(struct space *space, uint32_t module, struct source_file *file)
{
	const struct module_map *map = modules_first(&space->modules, module);
	uint32_t reader = space->modules.pid;
	int err = source_open_module(&space->modules, map, file);

	/* The process, or its main thread, may have ended since the mappings were read. */
	if (err && !space->is_gone && (space_is_lost(space) || space->modules.pid != reader))
		err = source_open_module(&space->modules, map, file);
	return err;
}

static void look_up_module(struct space *space, uint32_t i, const struct tables *tables)
{
	const struct module *module = &space->modules.list[i];
	struct source_file file;
	struct table table;
	struct image shape;
	int err;

	if (module->kind != MODULE_FILE && module->kind != MODULE_VDSO)
		return;
	err = open_module(space, i, &file);
	if (may_open_later(err))
		set_pending(space, i);
	if (err)
		return;
	err = tables_find(tables, &file, kind_of_table(space, module), &shape, &table);
	close(file.fd);
	if (!err) {
		modules_set_image(&space->modules, i, &shape);
		place_module(space, i, &shape, &table);
	} else if (err == -ENOENT) {
		set_pending(space, i);
	}
}

enum look { LOOK_NOT, LOOK_PENDING, LOOK_NEW };

/* Copies what is known of a mapping. Returns what its module needs. */
static enum look fill_mapping(const struct space *space, const struct space *before, size_t i)
{
	const struct modules *modules = &space->modules;
	const struct module_map *map = &modules->maps[i];
	const struct module *module = modules_of(modules, map);
	const struct module_map *old = modules_find(&before->modules, map->start);
	struct gmt_unwind_mapping *mapping = &space->mappings[i];
	bool is_known = old && space_has_map(&before->modules, old, modules, map) &&
			!(before->python_state != space->python_state && is_python_module(space, module));

	if (is_known)
		*mapping = before->mappings[old - before->modules.maps];
	else
		mapping->flags = module->kind == MODULE_ANONYMOUS ? GMT_UNWIND_MAP_JIT : 0;
	mapping->start = map->start;
	mapping->end = map->end;
	mapping->module = map->module;
	if (!is_known)
		return LOOK_NEW;
	return before->is_pending[old->module] ? LOOK_PENDING : LOOK_NOT;
}

void space_fill(struct space *space, const struct space *before, const struct tables *tables)
{
	struct modules *modules = &space->modules;
	unsigned char *looks = xcalloc(modules->count + 1, sizeof(*looks));

	space->mappings = xcalloc(modules->map_count + 1, sizeof(*space->mappings));
	space->is_pending = xcalloc(modules->count + 1, sizeof(*space->is_pending));
	space->retries += before->postponed != 0;
	space->pending = space->postponed = 0;
	space->next_pending = (uint32_t)modules->count;
	for (size_t i = 0; i < modules->map_count; i++) {
		enum look look = fill_mapping(space, before, i);

		if (look > looks[modules->maps[i].module])
			looks[modules->maps[i].module] = (unsigned char)look;
	}
	for (uint32_t i = 0; i < modules->count; i++) {
		if (looks[i] == LOOK_NEW)
			look_up_module(space, i, tables);
		else if (looks[i] == LOOK_PENDING)
			set_pending(space, i);
	}
	free(looks);
}

int space_build_one(struct space *space, struct tables *tables, const char **path)
{
	uint32_t i = take_pending(space);
	struct source_file file;
	struct table table;
	struct image shape;
	int err;

	if (i == UINT32_MAX)
		return 0;
	err = open_module(space, i, &file);
	if (may_open_later(err))
		postpone_module(space, i);
	if (err)
		return 0;
	*path = space->modules.list[i].path;
	err = tables_build(tables, &file, kind_of_table(space, &space->modules.list[i]), &shape, &table);
	close(file.fd);
	if (!err) {
		modules_set_image(&space->modules, i, &shape);
		place_module(space, i, &shape, &table);
		space->is_listed = false;
	} else if (parse_may_pass(err)) {
		postpone_module(space, i);
	}
	return err;
}
