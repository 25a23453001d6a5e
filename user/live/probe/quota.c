// SPDX-License-Identifier: BSD-2-Clause
#include "live/probe/quota.h"

#include <stdlib.h>

#include "base/xalloc.h"

struct user {
	uint32_t uid;
	size_t files, descriptors;
	uint64_t refused;
	bool is_told;
};

struct quota {
	uint64_t limit;          /* of descriptors */
	struct user all;         /* sums */
	size_t count;
	struct user *users;      /* the last of QUOTA_USERS: all others */
};

struct quota *quota_new(uint64_t descriptors)
{
	struct quota *quota = xcalloc(1, sizeof(*quota));

	quota->limit = descriptors;
	return quota;
}

void quota_free(struct quota *quota)
{
	if (!quota)
		return;
	free(quota->users);
	free(quota);
}

static struct user *user_of(struct quota *quota, uint32_t uid)
{
	for (size_t i = 0; i < quota->count; i++)
		if (quota->users[i].uid == uid)
			return &quota->users[i];
	if (quota->count == QUOTA_USERS)
		return &quota->users[QUOTA_USERS - 1];
	quota->users = xgrow(quota->users, quota->count, sizeof(*quota->users));
	quota->users[quota->count] = (struct user){ .uid = uid };
	return &quota->users[quota->count++];
}

bool quota_permits(struct quota *quota, uint32_t uid)
{
	struct user *user = user_of(quota, uid);

	if (user->files < QUOTA_FILES && user->descriptors < quota->limit / QUOTA_SHARE &&
	    quota->all.files < QUOTA_ALL_FILES && quota->all.descriptors + QUOTA_SPARE < quota->limit)
		return true;
	user->refused++;
	quota->all.refused++;
	return false;
}

void quota_take(struct quota *quota, uint32_t uid, size_t descriptors)
{
	struct user *user = user_of(quota, uid);

	user->files++;
	user->descriptors += descriptors;
	quota->all.files++;
	quota->all.descriptors += descriptors;
}

void quota_give_back(struct quota *quota, uint32_t uid, size_t descriptors)
{
	struct user *user = user_of(quota, uid);

	user->files--;
	user->descriptors -= descriptors;
	quota->all.files--;
	quota->all.descriptors -= descriptors;
}

bool quota_next_told(struct quota *quota, uint32_t *uid)
{
	for (size_t i = 0; i < quota->count; i++) {
		if (!quota->users[i].refused || quota->users[i].is_told)
			continue;
		quota->users[i].is_told = true;
		*uid = quota->users[i].uid;
		return true;
	}
	return false;
}

uint64_t quota_refused(const struct quota *quota)
{
	return quota->all.refused;
}
