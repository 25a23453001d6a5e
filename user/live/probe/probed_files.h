/* SPDX-License-Identifier: BSD-2-Clause */
/* The files that are probed (live/framework/library_kinds.h), each once however many processes and paths lead to it. */
#ifndef GPUMEMTRACE_LIVE_PROBE_PROBED_FILES_H
#define GPUMEMTRACE_LIVE_PROBE_PROBED_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct attach;
struct probing;
struct stream;
struct trial;

/* A kind whose layer (enum gmt_layer) is not in `layers` is never probed, and that is no error. with_sizes: also
 * what frameworks' blocks were asked for, one more probe an allocation. trial: whom return probes kill; copied. */
struct probing *probing_new(struct attach *attach, struct stream *stream, const struct trial *trial, uint32_t layers,
			    bool with_sizes);
void probing_free(struct probing *probing);   /* does not detach: attach_close() does */

/* Probes a libcuda. `shown` is its name for people, `path` the one to open. 1: probed now; 0: it was
 * already; -ENOEXEC: no libcuda; -ECANCELED: a return probe in this file would kill a process (hazard.h); else
 * -errno. After an error the cause says it in a sentence. */
int probing_add(struct probing *probing, const char *path, const char *shown, char *cause, size_t cause_size);

/* Probes what a process, or every process, has mapped. The number of files that are new; -errno with
 * a sentence if a libcuda could not be probed. Of all processes, libcudas that hazard.h refuses are passed over while
 * there is another: then the cause says it, else it is "". Another library that cannot be is announced with no
 * probes and not tried again. */
int probing_add_process(struct probing *probing, pid_t pid, char *cause, size_t cause_size);
int probing_add_all(struct probing *probing, char *cause, size_t cause_size);

/* A process has mapped a file as code. If a return probe would kill the process, the file's probes are taken away at
 * once: how many files lost them; the cause says why. */
struct watch_mapping;
size_t probing_guard(struct probing *probing, const struct watch_mapping *mapping, char *cause, size_t cause_size);

/* The same for all processes, as one may ask for a filter at any time: at once, or else so rarely that it takes a
 * twentieth of the time at most. */
size_t probing_guard_all(struct probing *probing, bool at_once, char *cause, size_t cause_size);

size_t probing_count(const struct probing *probing);   /* of libcudas */

#endif
