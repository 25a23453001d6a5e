// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/elf/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "base/foreign_file.h"

#define VDSO_MAX (1u << 20)     /* two pages on every kernel seen */

/* The vDSO is a whole ELF file that is only in memory. */
static int open_vdso(uint32_t pid, const struct module_map *map, struct image *image)
{
	size_t size = map->end - map->start;
	struct iovec local, remote;
	void *bytes;
	ssize_t got;

	if (size > VDSO_MAX)
		return -EFBIG;
	bytes = xcalloc(1, size);
	local = (struct iovec){ bytes, size };
	remote = (struct iovec){ (void *)(uintptr_t)map->start, size };
	got = process_vm_readv((pid_t)pid, &local, 1, &remote, 1, 0);
	if (got < 0) {
		got = -errno;
		free(bytes);
		return (int)got;
	}
	return image_open_bytes(image, bytes, (size_t)got, bytes);
}

static int live_module(const struct modules *modules, const struct module_map *map, struct image *image)
{
	const struct module *module = modules_of(modules, map);
	struct foreign_file file;
	int fd;

	if (module->kind == MODULE_VDSO)
		return open_vdso(modules->pid, map, image);
	if (module->kind != MODULE_FILE)
		return -ENOENT;
	file = (struct foreign_file){ map->start, map->end, module->path, module->dev, module->ino, module->deleted };
	fd = foreign_open_mapped(modules->pid, &file);
	if (fd < 0 && modules->has_our_paths)
		fd = foreign_open_same(0, &file); /* the process may have ended */
	return fd < 0 ? fd : image_open(image, fd);
}

static int open_debug_file(uint32_t pid, const char *build_id, struct image *image)
{
	char path[96];
	int fd, err;

	snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s/%s.debug", build_id, build_id + 2);
	fd = foreign_open_path(pid, path);
	if (fd < 0)
		return fd;
	err = image_open(image, fd);
	if (!err && strcmp(image->build_id, build_id)) {
		image_close(image);
		err = -ESTALE;
	}
	return err;
}

/* A container seldom has debug files; the host's debug files of the same build id say the same. */
static int live_debug(const struct modules *modules, const char *build_id, struct image *image)
{
	int err;

	if (strlen(build_id) < 4)
		return -ENOENT;
	err = open_debug_file(modules->pid, build_id, image);
	return err ? open_debug_file(0, build_id, image) : 0;
}

const struct symbol_source symbol_source_live = { live_module, live_debug };
