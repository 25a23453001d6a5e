/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The code of one traced process: its modules from /proc/PID/maps, the sorted list of mappings for BPF, each with its
 * table, and the process's Python. For one thread only.
 */
#ifndef GPUMEMTRACE_LIVE_STACKS_ADDRESS_SPACE_H
#define GPUMEMTRACE_LIVE_STACKS_ADDRESS_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live/stacks/space.h"

struct tables;

/* `client` reads the process's files, and must stay. */
void space_init(struct space *space, uint32_t tgid, struct parse_client *client, bool with_python);
void space_fini(struct space *space, struct publisher *publisher);

/* Reads the mappings. 1: they have changed; 0: they have not; -ESRCH: the process is gone; else -errno. Tables that BPF
 * has are used, the others become pending. */
int space_read(struct space *space, const struct tables *tables, struct publisher *publisher);

/* The list that tells which code an address was at a moment; NULL: that is not known, or there was none. */
struct modules *space_code_at(struct space *space, uint32_t moment, uint64_t address);

/* Whether the list that is used now may have other code at an address than there was at a moment. */
bool space_has_changed(const struct space *space, uint32_t moment, uint64_t address);

/* Whether all that was mapped before the last reading has been told. */
bool space_is_told_all(const struct space *space);

/*
 * Gives BPF the process's Python at once, and its mappings before long. `may_list`: a new list may be given now.
 * 0: BPF has everything; -EAGAIN: call again; -ENOSPC: too many processes; else -errno.
 */
int space_publish(struct space *space, struct publisher *publisher, bool may_list);

/* Whether this user may open the process's files: the way leads through the process's root, which another user's
 * process shows with CAP_SYS_PTRACE alone. */
bool space_may_open(const struct space *space);

/* Makes BPF forget the process, which has ended or runs another program. */
void space_withdraw(struct space *space, struct publisher *publisher);

#endif
