// SPDX-License-Identifier: BSD-2-Clause
#include "live/bpf/users.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/human.h"
#include "base/xalloc.h"
#include "live/stream.h"

#define READ_NS 1000000000ULL    /* between two looks: array_map.h says what a system call on a map costs */

enum share { SHARE_STACKS, SHARE_PROCESSES, SHARES };

struct users {
	int map_fd;
	uint32_t stacks, processes;
	uint64_t read_ns;
	uint32_t count;              /* of the next two */
	uint32_t uids[GMT_USERS];
	struct gmt_user counts[GMT_USERS];
	struct hash told;            /* uid -> the refusals that were told, by enum share */
};

struct told {
	uint64_t refused[SHARES];
};

struct users *users_new(int map_fd, uint32_t stacks, uint32_t processes)
{
	struct users *users = xcalloc(1, sizeof(*users));
	const struct gmt_user none = { 0 };
	uint32_t others = GMT_USER_OTHERS;

	*users = (struct users){ .map_fd = map_fd, .stacks = stacks, .processes = processes };
	hash_init(&users->told, sizeof(struct told));
	bpf_map_update_elem(map_fd, &others, &none, BPF_NOEXIST);
	return users;
}

void users_free(struct users *users)
{
	if (!users)
		return;
	hash_fini(&users->told);
	free(users);
}

/* BPF counts at the same time: what BPF adds or takes away in between is lost. That is a matter of microseconds at the
 * start, when few targets run. */
bool users_take_process(struct users *users, uint32_t uid, uint32_t *user)
{
	struct gmt_user count = { 0 };
	bool is_free;

	*user = uid;
	bpf_map_update_elem(users->map_fd, user, &count, BPF_NOEXIST);
	if (bpf_map_lookup_elem(users->map_fd, user, &count)) {
		*user = GMT_USER_OTHERS;
		if (bpf_map_lookup_elem(users->map_fd, user, &count))
			return true; /* there is no such map */
	}
	is_free = (int32_t)count.processes < (int32_t)users->processes;
	if (is_free)
		count.processes++;
	else
		count.processes_refused++;
	bpf_map_update_elem(users->map_fd, user, &count, BPF_EXIST);
	return is_free;
}

void users_return_process(struct users *users, uint32_t user)
{
	struct gmt_user count;

	if (bpf_map_lookup_elem(users->map_fd, &user, &count))
		return;
	count.processes--;
	bpf_map_update_elem(users->map_fd, &user, &count, BPF_EXIST);
}

void users_read(struct users *users, bool at_once)
{
	uint64_t now_ns = stream_now_ns();
	uint32_t after, count = GMT_USERS;
	int err;

	if (!at_once && users->read_ns && now_ns - users->read_ns < READ_NS)
		return;
	users->read_ns = now_ns;
	err = bpf_map_lookup_batch(users->map_fd, NULL, &after, users->uids, users->counts, &count, NULL);
	users->count = !err || err == -ENOENT ? count : 0;
}

static void fill_limit(const struct users *users, enum share share, uint32_t uid, uint64_t refused,
		       struct gmt_limit *limit)
{
	unsigned long long number = refused;
	char who[24] = "many other users";

	if (uid != GMT_USER_OTHERS)
		snprintf(who, sizeof(who), "user %u", uid);
	*limit = (struct gmt_limit){ 0 };
	if (share == SHARE_STACKS) {
		snprintf((char *)limit->what, sizeof(limit->what), "some allocations of %s have no stack trace", who);
		snprintf((char *)limit->why, sizeof(limit->why), "the share of stack traces (%u at a time) is"
			 " used up: %llu %s none", users->stacks, number,
			 human_plural(refused, "request or block has", "requests and blocks have"));
		snprintf((char *)limit->remedy, sizeof(limit->remedy), "Take fewer stack traces (--stack-sample), or"
			 " begin a new session");
		return;
	}
	snprintf((char *)limit->what, sizeof(limit->what), "some processes of %s are not traced", who);
	snprintf((char *)limit->why, sizeof(limit->why), "at most %u processes of a user are traced at a time: %llu %s"
		 " of further ones %s not traced", users->processes, number,
		 human_plural(refused, "start or call", "starts and calls"), human_plural(refused, "was", "were"));
	snprintf((char *)limit->remedy, sizeof(limit->remedy), "Look for a program of %s that starts many processes",
		 who);
}

bool users_next_limit(struct users *users, bool is_last, struct gmt_limit *limit)
{
	for (uint32_t i = 0; i < users->count; i++) {
		const struct gmt_user *user = &users->counts[i];
		const uint64_t refused[SHARES] = { user->stacks_refused, user->processes_refused };
		struct told *told;

		if (!refused[SHARE_STACKS] && !refused[SHARE_PROCESSES])
			continue;
		told = hash_put(&users->told, users->uids[i], NULL);
		for (int share = 0; share < SHARES; share++) {
			if (told->refused[share] == refused[share] || (told->refused[share] && !is_last))
				continue;
			told->refused[share] = refused[share];
			fill_limit(users, (enum share)share, users->uids[i], refused[share], limit);
			return true;
		}
	}
	return false;
}
