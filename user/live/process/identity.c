// SPDX-License-Identifier: BSD-2-Clause
#include "live/process/identity.h"

#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "live/process/find_facts.h"
#include "live/process/procfs.h"

/* A descriptor can be read from the end of the process on. */
static bool has_ended(int fd)
{
	struct pollfd end = { .fd = fd, .events = POLLIN };

	return fd >= 0 && poll(&end, 1, 0) > 0;
}

int identity_take(struct identities *identities, pid_t pid, struct identity *identity)
{
	struct procfs_stat stat = { 0 };
	int err;

	*identity = (struct identity){ .pid = pid, .fd = -1 };
	if (identities->held < IDENTITY_MOST)
		identity->fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (identity->fd < 0 && (errno == ESRCH || errno == EINVAL) && identities->held < IDENTITY_MOST)
		return -ESRCH; /* EINVAL: a thread (pidfd_open(2)) */
	identities->held += identity->fd >= 0;
	err = procfs_stat(pid, &stat);
	identity->start_ticks = stat.start_ticks;
	if (!err && (stat.ended || has_ended(identity->fd)))
		err = -ESRCH;
	if (err)
		identity_drop(identities, identity);
	else
		identities->by_start += identity->fd < 0;
	return err;
}

bool identity_is_there(const struct identity *identity)
{
	return find_is_same("", identity->pid, identity->start_ticks) && !has_ended(identity->fd);
}

void identity_drop(struct identities *identities, struct identity *identity)
{
	if (identity->fd < 0)
		return;
	close(identity->fd);
	identity->fd = -1;
	identities->held--;
}
