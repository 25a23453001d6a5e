/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What each user's processes have taken of that which all users share, as BPF counts it (bpf/users.bpf.h): stack traces
 * and traced processes.
 */
#ifndef GPUMEMTRACE_LIVE_BPF_USERS_H
#define GPUMEMTRACE_LIVE_BPF_USERS_H

#include <stdbool.h>
#include <stdint.h>

#include <gpumemtrace/config.h>
#include <gpumemtrace/wire.h>

struct users;

/* The map of this name. */
struct users *users_new(int map_fd, uint32_t stacks, uint32_t processes);
void users_free(struct users *users);

/* Takes a process that becomes a target from its user's share. False: the user has its share. *user is what the map of
 * targets keeps of the process. */
bool users_take_process(struct users *users, uint32_t uid, uint32_t *user);

/* Gives back what users_take_process() took for a process that became no target. */
void users_return_process(struct users *users, uint32_t user);

/* Reads the counts anew, but not too often unless `at_once`. */
void users_read(struct users *users, bool at_once);

/* The next user of whom something was refused, as a limit for the output. `is_last`: also users that were told before,
 * as the numbers have grown. False: there is none. */
bool users_next_limit(struct users *users, bool is_last, struct gmt_limit *limit);

#endif
