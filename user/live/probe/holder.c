// SPDX-License-Identifier: BSD-2-Clause
#include "live/probe/holder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/confine.h"
#include "base/count.h"
#include "base/xalloc.h"

#define HOLDER_NAME "gmt-probes"

struct holder {
	pid_t pid;
	int end_fd;                  /* readable: the holder ends */
};

/* ---- the holder ---- */

/* The kernel's own objects share one inode: links and events of probes, and an eventfd. */
static bool is_kernel_object(int fd, const struct stat *eventfd)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_dev == eventfd->st_dev && st.st_ino == eventfd->st_ino;
}

static void close_unless_probe(int fd, int keep, const struct stat *eventfd)
{
	if (fd > STDERR_FILENO && fd != keep && !is_kernel_object(fd, eventfd))
		close(fd);
}

/* Whoever reads the tracer's outputs must see their end now, and not when the probes are gone. `all` lists the
 * descriptors, and may be NULL. */
static void close_all_but_probes(DIR *all, int end_fd)
{
	const struct dirent *entry;
	struct stat eventfd;

	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		close(fd);
	if (!all || fstat(end_fd, &eventfd))
		return;
	while ((entry = readdir(all)))
		close_unless_probe((int)strtol(entry->d_name, NULL, 10), dirfd(all), &eventfd);
}

static void restrict_calls(void)
{
	static const struct confine_call allowed[] = {
		{ .number = __NR_ppoll }, { .number = __NR_close }, { .number = __NR_getdents64 },
		{ .number = __NR_fstat }, { .number = __NR_newfstatat }, { .number = __NR_exit_group },
		/* poll(), when the process was stopped or frozen, and goes on */
		{ .number = __NR_restart_syscall },
#ifdef __NR_poll
		{ .number = __NR_poll },
#endif
	};

	confine_calls(&(struct confine_filter){ allowed, COUNT(allowed), CONFINE_ALLOW, CONFINE_REFUSE }, false);
}

/* The end of the process closes what is left, which takes as long as the kernel needs. */
static _Noreturn void hold_probes(int tracer_fd, int end_fd)
{
	struct pollfd fds[] = { { .fd = tracer_fd, .events = POLLIN }, { .fd = end_fd, .events = POLLIN } };
	DIR *all = opendir("/proc/self/fd");
	sigset_t signals;

	/* A terminal's signals are for the tracer. */
	sigfillset(&signals);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	prctl(PR_SET_NAME, HOLDER_NAME);
	confine_as_nobody();
	restrict_calls();
	while (poll(fds, COUNT(fds), -1) < 0 && errno == EINTR)
		;
	/* Unless the tracer has ended, the descriptors are still in use. */
	if (fds[0].revents && !fds[1].revents)
		close_all_but_probes(all, end_fd);
	_exit(0);
}

/* ---- the tracer ---- */

/* fork(2) of libc gives no shared descriptors. */
static pid_t fork_with_descriptors(void)
{
	return (pid_t)syscall(SYS_clone, CLONE_FILES, NULL, NULL, NULL, NULL);
}

int holder_start(struct holder **out)
{
	int tracer_fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	struct holder holder = { .end_fd = eventfd(0, EFD_CLOEXEC) };
	int err = tracer_fd < 0 || holder.end_fd < 0 ? -errno : 0;

	if (!err) {
		holder.pid = fork_with_descriptors();
		if (!holder.pid)
			hold_probes(tracer_fd, holder.end_fd);
		err = holder.pid < 0 ? -errno : 0;
	}
	if (!err) {
		*out = xcalloc(1, sizeof(holder));
		**out = holder;
		return 0;
	}
	if (tracer_fd >= 0)
		close(tracer_fd);
	if (holder.end_fd >= 0)
		close(holder.end_fd);
	return err;
}

/* By a descriptor: the tracer may not send signals to another user's process. */
void holder_free(struct holder *holder)
{
	if (!holder)
		return;
	if (eventfd_write(holder->end_fd, 1) == 0)
		while (waitpid(holder->pid, NULL, __WALL) < 0 && errno == EINTR)
			;
	close(holder->end_fd);
	free(holder);
}
