// SPDX-License-Identifier: BSD-2-Clause
#include "live/stacks/turns.h"

#include "base/confine.h"
#include "live/process/procfs.h"
#include "live/stream.h"
#include "parse/client.h"

#define PERIOD_NS 60000000000ULL     /* what was longer ago does not count */

void turns_init(struct turns *turns, struct parse_client *client)
{
	*turns = (struct turns){ .client = client };
	hash_init(&turns->spent, sizeof(uint64_t));
}

void turns_fini(struct turns *turns)
{
	hash_fini(&turns->spent);
}

/* The owner of /proc/PID would be root for a process that cannot be dumped, which each process may choose. */
uint32_t turns_user(uint32_t tgid)
{
	struct procfs_status status;

	return procfs_status((pid_t)tgid, &status) ? CONFINE_NOBODY : status.uid;
}

void turns_begin(struct turns *turns, uint32_t user)
{
	turns->start_ns = stream_now_ns();
	parse_client_charge(turns->client, user);
}

void turns_end(struct turns *turns, uint32_t user)
{
	uint64_t now_ns = stream_now_ns(), *spent;

	if (now_ns - turns->since_ns > PERIOD_NS) {
		hash_fini(&turns->spent);
		turns->since_ns = now_ns;
	}
	spent = hash_put(&turns->spent, user, NULL);
	*spent += now_ns - turns->start_ns;
}

uint64_t turns_spent(const struct turns *turns, uint32_t user)
{
	const uint64_t *spent = hash_get(&turns->spent, user);

	return spent ? *spent : 0;
}
