/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The processes of a session. Each is introduced to the stream before its first record: with facts from /proc, and with
 * the moment when tracing began.
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

/* Adds a running process. `used_gpu`: it used a GPU before now, so a part of its memory is unknown. */
void roster_add(struct roster *roster, pid_t tgid, bool used_gpu);

/* Expects that a process will use a GPU: reads its facts now, and introduces it when it uses one. */
void roster_expect(struct roster *roster, pid_t tgid);

/* Call before a record of the kernel goes into the stream: introduces a new process. */
void roster_see(struct roster *roster, const struct gmt_hdr *record);
/* Call after the record went into the stream: notes forks, execs and exits. */
void roster_seen(struct roster *roster, const struct gmt_hdr *record);

/* Ends processes that are gone, or are zombies, and whose exit records were lost. This takes ROSTER_REAPS calls; the
 * ring has to be emptied before each call: a process whose records wait in the ring would get a second life. */
#define ROSTER_REAPS 2
void roster_reap(struct roster *roster);

bool roster_is_live(const struct roster *roster, pid_t tgid);
size_t roster_live_count(const struct roster *roster);

/* Whether any process has used CUDA, then or before it was added. */
bool roster_saw_cuda(const struct roster *roster);

/* The number of kernel-layer records so far, of all processes: a change shows that memory was moved. */
uint64_t roster_kernel_records(const struct roster *roster);

typedef void (*roster_fn)(void *arg, pid_t tgid);
void roster_each_live(const struct roster *roster, roster_fn fn, void *arg);

#endif
