// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/elf/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/blake2.h"
#include "base/foreign_file.h"
#include "base/out.h"
#include "base/xalloc.h"

#define VDSO_MAX (1u << 20)     /* two pages on every kernel seen */

/*
 * The vDSO is a whole ELF file that is only in memory. The kernel maps the same bytes into each 64-bit process
 * (arch/x86/entry/vdso/vma.c, arch/arm64/kernel/vdso.c of Linux 6.18). We take ours: a process can change its own.
 */
static int copy_vdso(const struct module_map *map)
{
	size_t size = map->end - map->start;
	uintptr_t ours = getauxval(AT_SYSINFO_EHDR);
	struct iovec local, remote;
	void *bytes;
	ssize_t got;
	int fd, err;

	if (size > VDSO_MAX || !ours)
		return -EFBIG;
	bytes = xcalloc(1, size);
	local = (struct iovec){ bytes, size };
	remote = (struct iovec){ (void *)ours, size };
	got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0); /* ours may be shorter */
	fd = got > 0 ? memfd_create("vdso", MFD_CLOEXEC) : -1;
	err = fd < 0 ? -errno : out_write_fd(fd, bytes, (size_t)got);
	free(bytes);
	if (!err)
		return fd;
	if (fd >= 0)
		close(fd);
	return err;
}

/* The size and times are told, too: an inode's number is given out again, and a file can be written to. */
static int describe_source(int fd, struct source_file *file)
{
	struct stat st;
	uint64_t parts[6], identity;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st)) {
		int err = -errno;

		close(fd);
		return err;
	}
	parts[0] = st.st_dev;
	parts[1] = st.st_ino;
	parts[2] = (uint64_t)st.st_size;
	parts[3] = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
	parts[4] = (uint64_t)st.st_ctim.tv_sec * 1000000000 + (uint64_t)st.st_ctim.tv_nsec;
	parts[5] = st.st_uid;
	/* A file's owner chooses some of these, and must not choose the identity of another file. */
	blake2b(&identity, sizeof(identity), parts, sizeof(parts));
	*file = (struct source_file){ fd, st.st_uid, identity | 1 };
	return 0;
}

int source_open_module(const struct modules *modules, const struct module_map *map, struct source_file *file)
{
	const struct module *module = modules_of(modules, map);
	struct foreign_file mapped;
	int fd, err;

	if (module->kind == MODULE_VDSO) {
		err = describe_source(copy_vdso(map), file);
		file->identity = 1; /* there is one */
		return err;
	}
	if (module->kind != MODULE_FILE)
		return -ENOENT;
	mapped = (struct foreign_file){ map->start, map->end, module->path, module->dev, module->ino, module->deleted };
	fd = foreign_open_mapped(modules->pid, &mapped);
	if (fd < 0 && modules->has_our_paths)
		fd = foreign_open_same(0, &mapped); /* the process may have ended */
	return describe_source(fd, file);
}

/* A container seldom has debug files; the host's debug files of the same build id say the same. */
int source_open_debug(const struct modules *modules, const char *build_id, struct source_file *file)
{
	char path[96];
	int fd;

	if (strlen(build_id) < 4)
		return -ENOENT;
	snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s/%s.debug", build_id, build_id + 2);
	fd = foreign_open_path(modules->pid, path);
	return describe_source(fd < 0 ? foreign_open_path(0, path) : fd, file);
}
