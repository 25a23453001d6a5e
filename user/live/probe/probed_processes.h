/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes the libraries (probed_files.h) that processes have mapped, on account of their users. */
#ifndef GPUMEMTRACE_LIVE_PROBE_PROBED_PROCESSES_H
#define GPUMEMTRACE_LIVE_PROBE_PROBED_PROCESSES_H

#include <stddef.h>
#include <sys/types.h>

struct probing;

/* Probes the libraries that a process, or every process, has mapped. Returns the number of new files; -errno with a
 * sentence if a libcuda could not be probed. probing_add_process(): -ENOEXEC: each file of the process with libcuda's
 * name is something else, which may change; the cause is "" if probing_note() speaks of the files.
 * probing_add_all() skips a libcuda that hazard.h refuses if another one is probed: then the cause says why, else the
 * cause is "". A framework's library that cannot be probed is announced without probes and not tried again, unless the
 * reason may pass (target_may_pass()). */
int probing_add_process(struct probing *probing, pid_t pid, char *cause, size_t cause_size);
int probing_add_all(struct probing *probing, char *cause, size_t cause_size);

#endif
