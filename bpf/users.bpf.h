/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * What each user's processes take of that which all users share. A user who has taken its share gets no more, is
 * counted, and leaves the rest to the others. Two CPUs that look at the same moment may both take the last one.
 */
#ifndef GMT_USERS_BPF_H
#define GMT_USERS_BPF_H

#ifndef EEXIST
#define EEXIST 17 /* include/uapi/asm-generic/errno-base.h */
#endif

/* By uid. The collector puts in GMT_USER_OTHERS, which all users share who find no room. */
MAP(users, HASH, GMT_USERS, __u32, struct gmt_user, BPF_F_NO_PREALLOC);

/* The key of the current user. */
static __always_inline __u32 user_key(void)
{
	__u32 uid = (__u32)bpf_get_current_uid_gid();
	struct gmt_user nothing = {};

	if (bpf_map_lookup_elem(&users, &uid))
		return uid;
	bpf_map_update_elem(&users, &uid, &nothing, BPF_NOEXIST);
	return bpf_map_lookup_elem(&users, &uid) ? uid : GMT_USER_OTHERS;
}

/* Whether the current process, a target, may have one more stack trace, which is taken. */
static __always_inline int user_take_stack(void)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32, key;
	struct gmt_target *target = bpf_map_lookup_elem(&targets, &tgid);
	struct gmt_user *user;

	if (!target)
		return 0;
	key = target->user;
	user = bpf_map_lookup_elem(&users, &key);
	if (!user)
		return 0;
	if ((__s32)user->stacks >= (__s32)gmt.config.user_stacks) {
		__sync_fetch_and_add(&user->stacks_refused, 1);
		return 0;
	}
	__sync_fetch_and_add(&user->stacks, 1);
	__sync_fetch_and_add(&target->stacks, 1);
	return 1;
}

static __always_inline void user_return_stacks(__u32 key, __u32 count)
{
	struct gmt_user *user = bpf_map_lookup_elem(&users, &key);

	if (user)
		__sync_fetch_and_add(&user->stacks, -count);
}

/* Gives back a stack trace that could not be sent. */
static __always_inline int user_return_stack(void)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct gmt_target *target = bpf_map_lookup_elem(&targets, &tgid);

	if (target) {
		__sync_fetch_and_add(&target->stacks, -1);
		user_return_stacks(target->user, 1);
	}
	return 0;
}

/* Whether the user may have one more process traced, which is taken. */
static __always_inline int user_take_process(__u32 key)
{
	struct gmt_user *user = bpf_map_lookup_elem(&users, &key);

	if (!user)
		return 0;
	if ((__s32)user->processes >= (__s32)gmt.config.user_processes) {
		__sync_fetch_and_add(&user->processes_refused, 1);
		return 0;
	}
	__sync_fetch_and_add(&user->processes, 1);
	return 1;
}

static __always_inline void user_return_process(__u32 key)
{
	struct gmt_user *user = bpf_map_lookup_elem(&users, &key);

	if (user)
		__sync_fetch_and_add(&user->processes, -1);
}

#endif
