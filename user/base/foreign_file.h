/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens files of other processes for reading. The owners choose the paths, and may replace the files at any time. So
 * only regular files are opened, only below the process's own root, and without waiting for anybody. Links of a
 * container are followed inside the container.
 */
#ifndef GPUMEMTRACE_BASE_FOREIGN_FILE_H
#define GPUMEMTRACE_BASE_FOREIGN_FILE_H

#include <stdbool.h>
#include <stdint.h>

/* A mapped file as /proc/PID/maps shows the file. */
struct foreign_file {
	uint64_t start, end;     /* of the mapping */
	const char *path;        /* from the process's root */
	uint64_t dev, ino;       /* makedev() */
	bool deleted;
};

/*
 * Opens the mapped file itself through /proc/PID/map_files, even if the file was deleted or replaced. This needs
 * CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE (proc_pid_map_files(5)). Without these, the file at the path is opened if it
 * is the same file. Returns a descriptor, which the caller closes, or -errno:
 * -ENOEXEC: not a regular file; -ESTALE: another file is at the path; -EAGAIN: somebody holds a lease on the file
 * (fcntl(2)), and opening would have to wait.
 */
int foreign_open_mapped(uint32_t pid, const struct foreign_file *file);

/* Opens the file at the path in the root of a process (0: our own root), if it is the same file. Returns the same. */
int foreign_open_same(uint32_t pid, const struct foreign_file *file);

/* Opens a regular file in an open directory, and follows no link. Returns the same. */
int foreign_open_in(int dir, const char *name);

/* Opens any regular file at a path in the root of a process (0: our own root). Returns the same. */
int foreign_open_path(uint32_t pid, const char *path);

#endif
