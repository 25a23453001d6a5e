/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files of other processes, opened for reading. Whoever runs there names them, and may put other things in
 * their place at any time: only a regular file is ever opened, only below the process's own root, and without
 * waiting for anybody. What a link of a container leads to is looked up in the container.
 */
#ifndef GPUMEMTRACE_BASE_FOREIGN_FILE_H
#define GPUMEMTRACE_BASE_FOREIGN_FILE_H

#include <stdbool.h>
#include <stdint.h>

/* A mapped file as /proc/PID/maps has it. */
struct foreign_file {
	uint64_t start, end;     /* of the mapping */
	const char *path;        /* from the process's root */
	uint64_t dev, ino;       /* makedev() */
	bool deleted;
};

/*
 * The very file that is mapped, through /proc/PID/map_files, also when it was deleted or replaced. That wants
 * CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE (proc_pid_map_files(5)); without them what is at its path, if that is
 * the same file. A descriptor, the caller's to close, or -errno:
 * -ENOEXEC: it is no regular file; -ESTALE: there is another file at the path; -EAGAIN: somebody holds a lease on it
 * (fcntl(2)), which opening would have to wait for.
 */
int foreign_open_mapped(uint32_t pid, const struct foreign_file *file);

/* The second part of that: what is at its path in the root of a process, or, of process 0, in our own. */
int foreign_open_same(uint32_t pid, const struct foreign_file *file);

/* Any regular file at a path in the root of a process, or, of process 0, in our own; likewise. */
int foreign_open_path(uint32_t pid, const char *path);

#endif
