/* SPDX-License-Identifier: BSD-2-Clause */
/* The libcuda files that are probed, each once however many processes and paths lead to it. */
#ifndef GPUMEMTRACE_LIVE_PROBING_H
#define GPUMEMTRACE_LIVE_PROBING_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct attach;
struct probing;
struct stream;

/* Not `enabled`: nothing is ever probed, and that is no error. */
struct probing *probing_new(struct attach *attach, struct stream *stream, bool enabled);
void probing_free(struct probing *probing);   /* does not detach: attach_close() does */

/* Probes a file. `shown` is its name for people, `path` the one to open. 1: probed now; 0: it was
 * already; -ENOEXEC: no libcuda; else -errno. After an error the cause says it in a sentence. */
int probing_add(struct probing *probing, const char *path, const char *shown, char *cause, size_t cause_size);

/* Probes what a process, or every process, has mapped. The number of files that are new; -errno with
 * a sentence if one could not be probed. */
int probing_add_process(struct probing *probing, pid_t pid, char *cause, size_t cause_size);
int probing_add_all(struct probing *probing, char *cause, size_t cause_size);

size_t probing_count(const struct probing *probing);

#endif
