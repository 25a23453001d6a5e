/* SPDX-License-Identifier: BSD-2-Clause */
/* See share.h. Invariant: a slot's bytes count only while its lock is held. */
#include "share.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void share_root(const void *address, int up, char *path, size_t size)
{
	const char *env = getenv("GPUMEMTRACE_STANDIN_ROOT");
	Dl_info info;
	char real[PATH_MAX];

	if (env && *env) {
		snprintf(path, size, "%s", env);
		return;
	}
	snprintf(path, size, "/");
	if (!dladdr(address, &info) || !realpath(info.dli_fname, real))
		return;
	for (char *dir = real; up >= 0; up--) {
		dir = dirname(dir);
		if (!up)
			snprintf(path, size, "%s", dir);
	}
}

int share_open(const char *root, struct share **share)
{
	char path[PATH_MAX + 32];
	void *map = MAP_FAILED;
	int fd;

	snprintf(path, sizeof(path), "%s/run", root);
	if (!mkdir(path, 0777))
		chmod(path, 0777); /* whatever the umask says: targets run as any user */
	snprintf(path, sizeof(path), "%s/run/clients", root);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd >= 0) {
		fchmod(fd, 0666);
		if (!ftruncate(fd, sizeof(**share)))
			map = mmap(NULL, sizeof(**share), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	}
	if (map != MAP_FAILED) {
		*share = map;
		return fd;
	}
	if (fd >= 0)
		close(fd);
	map = mmap(NULL, sizeof(**share), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	*share = map == MAP_FAILED ? NULL : map;
	return -1;
}

static struct flock slot_range(int slot)
{
	struct flock lock = {
		.l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start =
			(off_t)(offsetof(struct share, client) + (size_t)slot * sizeof(struct share_client)),
		.l_len = sizeof(struct share_client),
	};
	return lock;
}

pid_t share_owner(int fd, int slot)
{
	struct flock lock = slot_range(slot);

	/* An open-file-description query also sees the POSIX locks of this very process. */
	if (fd < 0 || fcntl(fd, F_OFD_GETLK, &lock) || lock.l_type == F_UNLCK)
		return 0;
	return lock.l_pid;
}

static bool slot_taken(int fd, int slot)
{
	struct flock lock = slot_range(slot);

	return !fcntl(fd, F_OFD_GETLK, &lock) && lock.l_type != F_UNLCK;
}

int share_claim(int fd, struct share *share)
{
	if (fd < 0)
		return 0;
	for (int slot = 0; slot < SHARE_SLOTS; slot++) {
		struct flock lock = slot_range(slot);

		if (slot_taken(fd, slot) || fcntl(fd, F_SETLK, &lock))
			continue;
		memset(&share->client[slot], 0, sizeof(share->client[slot]));
		return slot;
	}
	return -1;
}

uint64_t share_total(const struct share *share, int gpu)
{
	return share->total[gpu] ? share->total[gpu] : STANDIN_DEFAULT_MIB * STANDIN_MIB;
}

uint64_t share_used(int fd, const struct share *share, int gpu, int self)
{
	uint64_t sum = 0;

	for (int slot = 0; slot < SHARE_SLOTS; slot++) {
		uint64_t used = __atomic_load_n(&share->client[slot].used[gpu], __ATOMIC_RELAXED);

		if (used && (slot == self || (fd >= 0 && slot_taken(fd, slot))))
			sum += used;
	}
	return sum;
}
