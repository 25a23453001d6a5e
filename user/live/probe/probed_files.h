/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes files (live/framework/library_kinds.h), each file once, however many processes and paths lead to it. */
#ifndef GPUMEMTRACE_LIVE_PROBE_PROBED_FILES_H
#define GPUMEMTRACE_LIVE_PROBE_PROBED_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct attach;
struct parser;
struct probing;
struct stream;
struct trial;

/* Files are read by `parser`, which must stay. Libraries whose layer (enum gmt_layer) is not in `layers` are never
 * probed, which is no error. with_sizes: also trace the sizes that frameworks' blocks were requested with, one more
 * probe for each allocation. trial: says which processes return probes kill; it is copied.
 * unmapped_ms: after which time a file that nobody maps may be dropped; 0: UNMAPPED_AGE_MS. */
struct probing *probing_new(struct attach *attach, struct stream *stream, struct parser *parser,
			    const struct trial *trial, uint32_t layers, bool with_sizes,
			    uint32_t unmapped_ms);
void probing_free(struct probing *probing);   /* does not detach: attach_close() does */

/* Probes a libcuda. `path` is opened, `shown` is the name for people. 1: probed now; 0: probed before; -ENOEXEC: no
 * libcuda, or it cannot be read; -ECANCELED: a return probe in this file would kill a process (hazard.h), or the kernel
 * does not probe the file; else -errno. After an error the cause is a sentence. */
int probing_add(struct probing *probing, const char *path, const char *shown, char *cause, size_t cause_size);

/* Call when a process has mapped a file as code. If a return probe would kill the process, the file's probes are
 * removed at once. Returns the number of files that lost their probes; the cause says why. */
struct watch_mapping;
size_t probing_guard(struct probing *probing, const struct watch_mapping *mapping, char *cause, size_t cause_size);

/* The same for all processes, as a process may ask for a filter at any time. Without `at_once` the check runs so rarely
 * that it takes a twentieth of the time at most. */
size_t probing_guard_all(struct probing *probing, bool at_once, char *cause, size_t cause_size);

/* Removes the probes of files that no process has mapped for a while, if they are many (unmapped.h). Call often: looks
 * at all processes are rare. */
void probing_drop_unmapped(struct probing *probing);
size_t probing_dropped(const struct probing *probing); /* such files, ever */

/* The next user of whom a file was not probed because of a quota (quota.h), as a limit for the output. Each user comes
 * once. */
struct gmt_limit;
bool probing_next_limit(struct probing *probing, struct gmt_limit *limit);
/* How many mappings of files were not probed because of quotas. */
uint64_t probing_refused(const struct probing *probing);

/* How many attempts to probe a library failed, and why the newest one did. A file that is no library does not count. */
uint64_t probing_failed(const struct probing *probing, const char **why);
/* Whether processes should be looked at again, as descriptors ran out or a file could not be opened: true once. */
bool probing_look_is_due(struct probing *probing);

/* Whether a file is probed, by the inode that its mappings have. */
bool probing_has_inode(const struct probing *probing, uint64_t ino);

size_t probing_count(const struct probing *probing);   /* of libcudas */

/* Files that were given up (parse_gave_up()), and those of them whose reader was ended (parse_was_ended()). */
size_t probing_unread(const struct probing *probing, size_t *ended);

/* Files that processes have mapped, that have the name of a library and cannot be read as one: how many there were; the
 * next user of such files, as a limit (is_last: also users that were told before, if the number has grown); and the
 * next sentence about one, to be freed; NULL: there is none. */
uint64_t probing_unreadable(const struct probing *probing);
bool probing_next_unreadable(struct probing *probing, bool is_last, struct gmt_limit *limit);
char *probing_note(struct probing *probing);

#endif
