// SPDX-License-Identifier: BSD-2-Clause
/* See source.h. */
#include "symbol/source.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"

#define VDSO_MAX (1u << 20)     /* two pages on every kernel seen */

/* Opens what an O_PATH descriptor is at, if it is a plain file: to open a device, or a FIFO, may do
 * something. Closes the descriptor. */
static int open_plain(int path_fd)
{
	char path[48];
	struct stat st;
	int fd = -ENOEXEC;

	if (path_fd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	if (!fstat(path_fd, &st) && S_ISREG(st.st_mode)) {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			fd = -errno;
	}
	close(path_fd);
	return fd;
}

/*
 * Opens a path as the process would: a link of a container, absolute or with "..", stays inside its
 * root (openat2(), Linux 5.6). Process 0: as we would.
 */
static int open_in_root(uint32_t pid, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	char root[32] = "/";
	int dir, fd;

	if (pid)
		snprintf(root, sizeof(root), "/proc/%u/root", pid);
	dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	fd = open_plain((int)syscall(SYS_openat2, dir, path, &how, sizeof(how)));
	close(dir);
	return fd;
}

/* The mapped file itself, also when it was deleted or replaced; needs CAP_SYS_ADMIN or
 * CAP_CHECKPOINT_RESTORE (proc_pid_map_files(5)). */
static int open_mapped(uint32_t pid, const struct module_map *map)
{
	char path[96];

	snprintf(path, sizeof(path), "/proc/%u/map_files/%llx-%llx", pid, (unsigned long long)map->start,
		 (unsigned long long)map->end);
	return open_plain(open(path, O_PATH | O_CLOEXEC));
}

/* By path: only if it still is the mapped file. Through overlayfs one file has several st_dev. */
static int open_by_path(uint32_t pid, const struct module *module)
{
	struct stat st;
	int fd;

	if (module->deleted)
		return -ENOENT;
	fd = open_in_root(pid, module->path);
	if (fd >= 0 && (fstat(fd, &st) || st.st_ino != module->ino)) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

/* The vDSO is a whole ELF file in memory, and only there. */
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
	int fd;

	if (module->kind == MODULE_VDSO)
		return open_vdso(modules->pid, map, image);
	if (module->kind != MODULE_FILE)
		return -ENOENT;
	fd = open_mapped(modules->pid, map);
	if (fd < 0)
		fd = open_by_path(modules->pid, module);
	if (fd < 0 && modules->has_our_paths)
		fd = open_by_path(0, module); /* it may have ended by now */
	return fd < 0 ? fd : image_open(image, fd);
}

static int open_debug_file(uint32_t pid, const char *build_id, struct image *image)
{
	char path[96];
	int fd, err;

	snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s/%s.debug", build_id, build_id + 2);
	fd = open_in_root(pid, path);
	if (fd < 0)
		return fd;
	err = image_open(image, fd);
	if (!err && strcmp(image->build_id, build_id)) {
		image_close(image);
		err = -ESTALE;
	}
	return err;
}

/* A container seldom has debug files; those of the host, for the same build, say the same. */
static int live_debug(const struct modules *modules, const char *build_id, struct image *image)
{
	int err;

	if (strlen(build_id) < 4)
		return -ENOENT;
	err = open_debug_file(modules->pid, build_id, image);
	return err ? open_debug_file(0, build_id, image) : 0;
}

const struct symbol_source symbol_source_live = { live_module, live_debug };
