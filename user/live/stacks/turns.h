/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whose turn it is: how long the stack thread has worked for each user lately. One user can have any number of
 * processes and files, so the user who was served least comes first.
 */
#ifndef GPUMEMTRACE_LIVE_STACKS_TURNS_H
#define GPUMEMTRACE_LIVE_STACKS_TURNS_H

#include <stdint.h>

#include "base/hash.h"

struct parse_client;

struct turns {
	struct parse_client *client;
	struct hash spent;           /* user -> ns in this period */
	uint64_t since_ns;           /* when the period began */
	uint64_t start_ns;           /* of the turn */
};

/* `client` must stay. */
void turns_init(struct turns *turns, struct parse_client *client);
void turns_fini(struct turns *turns);

/* The user of a process, by its real uid; the overflow user if the process has ended. */
uint32_t turns_user(uint32_t tgid);

/* What is done in between is done for the user, who is charged for the files that are read, too. */
void turns_begin(struct turns *turns, uint32_t user);
void turns_end(struct turns *turns, uint32_t user);

/* How long turns of the user took in this period. */
uint64_t turns_spent(const struct turns *turns, uint32_t user);

#endif
