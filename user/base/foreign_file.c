/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/foreign_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Opens the file that an O_PATH descriptor stands for, and closes the descriptor. Opens only a regular file, because to
 * open a device or a FIFO can have effects. */
static int open_regular(int path_fd)
{
	char path[48];
	struct stat st;
	int fd = -ENOEXEC;

	if (path_fd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	if (!fstat(path_fd, &st) && S_ISREG(st.st_mode)) {
		/* O_NONBLOCK: the holder of a lease could make us wait for 45 s. */
		fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		if (fd < 0)
			fd = -errno;
	}
	close(path_fd);
	return fd;
}

int foreign_open_in(int dir, const char *name)
{
	return open_regular(openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
}

/* A container's link, absolute or with "..", stays in its root, as for the process itself (openat2(), Linux 5.6). */
int foreign_open_path(uint32_t pid, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	char root[32] = "/";
	int dir, fd;

	if (pid)
		snprintf(root, sizeof(root), "/proc/%u/root", pid);
	dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	fd = open_regular((int)syscall(SYS_openat2, dir, path, &how, sizeof(how)));
	close(dir);
	return fd;
}

/*
 * Whether the open file is the mapped file. On two file systems, stat() shows another device than the maps: overlayfs
 * has a device for each mount or layer, btrfs for each subvolume. For these, only the inode's number is compared. At
 * worst, an attacker makes us open another file with this number in the process's root.
 */
static bool is_same_file(int fd, const struct foreign_file *file)
{
	struct statfs fs;
	struct stat st;

	if (fstat(fd, &st) || st.st_ino != file->ino)
		return false;
	return st.st_dev == file->dev ||
	       (!fstatfs(fd, &fs) && (fs.f_type == OVERLAYFS_SUPER_MAGIC || fs.f_type == BTRFS_SUPER_MAGIC));
}

int foreign_open_same(uint32_t pid, const struct foreign_file *file)
{
	int fd;

	if (file->deleted)
		return -ENOENT;
	fd = foreign_open_path(pid, file->path);
	if (fd >= 0 && !is_same_file(fd, file)) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

int foreign_open_mapped(uint32_t pid, const struct foreign_file *file)
{
	char path[96];
	int path_fd, err;

	snprintf(path, sizeof(path), "/proc/%u/map_files/%llx-%llx", pid, (unsigned long long)file->start,
		 (unsigned long long)file->end);
	path_fd = open(path, O_PATH | O_CLOEXEC);
	/* Another file may be mapped at these addresses by now. */
	if (path_fd >= 0 && is_same_file(path_fd, file))
		return open_regular(path_fd);
	err = path_fd < 0 ? -errno : -ESTALE;
	if (path_fd >= 0)
		close(path_fd);
	return file->deleted ? err : foreign_open_same(pid, file);
}
