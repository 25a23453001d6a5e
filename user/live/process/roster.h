/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The processes of a session: each is introduced to the stream (facts from /proc, where tracing
 * began) before its first record.
 */
#ifndef GPUMEMTRACE_LIVE_PROCESS_ROSTER_H
#define GPUMEMTRACE_LIVE_PROCESS_ROSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <gpumemtrace/wire.h>

struct roster;
struct stream;

struct roster *roster_new(struct stream *stream);
void roster_free(struct roster *roster);

/* A process that runs already. `used_gpu`: it had a GPU before now, so its memory is not known. */
void roster_add(struct roster *roster, pid_t tgid, bool used_gpu);

/* A process that may use a GPU: reads its facts while it is there, and introduces it when it does. */
void roster_expect(struct roster *roster, pid_t tgid);

/* A record from the kernel is about to go into the stream: introduces its process if that is new,
 * begins a new one after an exec, notes an exit. */
void roster_see(struct roster *roster, const struct gmt_hdr *record);
/* The same record has gone into the stream. */
void roster_seen(struct roster *roster, const struct gmt_hdr *record);

/* Ends those that are gone without a record of it: it was lost. Zombies have ended, too. It takes
 * ROSTER_REAPS calls, between which the ring has to be emptied. */
#define ROSTER_REAPS 2
void roster_reap(struct roster *roster);

bool roster_is_live(const struct roster *roster, pid_t tgid);
size_t roster_live_count(const struct roster *roster);

/* Whether any process has used CUDA, then or before it was added. */
bool roster_saw_cuda(const struct roster *roster);

/* Number of kernel-layer records of all processes so far: whether memory moved between two moments. */
uint64_t roster_kernel_records(const struct roster *roster);

typedef void (*roster_fn)(void *arg, pid_t tgid);
void roster_each_live(const struct roster *roster, roster_fn fn, void *arg);

#endif
