/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How many files each user's processes may have probed. A user can map as many files named like libcuda as the user
 * likes. Each costs descriptors and the kernel's memory, and what one user takes, the others' jobs must not lack.
 */
#ifndef GPUMEMTRACE_LIVE_PROBE_QUOTA_H
#define GPUMEMTRACE_LIVE_PROBE_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(NAME, number, what it bounds) */
#define QUOTAS(X)                                                                 \
	X(FILES, 1024, "files that one user's processes have probed")              \
	X(SHARE, 2, "a user gets this part of all descriptors: half")        \
	X(ALL_FILES, 8192, "files of all users")                                  \
	X(USERS, 1024, "users that are counted each by itself; the others share one quota") \
	X(SPARE, 128, "descriptors that stay free for all other work")
enum quota_number {
#define X(name, number, text) QUOTA_##name = number,
	QUOTAS(X)
#undef X
};

struct quota;

struct quota *quota_new(uint64_t descriptors); /* RLIMIT_NOFILE's */
void quota_free(struct quota *quota);

/* Whether a user may have one more file probed. If not, counts the file. */
bool quota_permits(struct quota *quota, uint32_t uid);
/* A file of the user was probed, and takes so many descriptors. */
void quota_take(struct quota *quota, uint32_t uid, size_t descriptors);

/* Such a file has lost its probes: undoes one quota_take(). */
void quota_give_back(struct quota *quota, uint32_t uid, size_t descriptors);

/* A user of whom a file was refused for the first time since the last call: true, and the user. */
bool quota_next_told(struct quota *quota, uint32_t *uid);
/* How often a file was refused, of all users. A file that is mapped again counts again. */
uint64_t quota_refused(const struct quota *quota);

#endif
