/* SPDX-License-Identifier: BSD-2-Clause */
/* The system calls that the tracer does not need once it is set up, and that would help who takes the tracer over. */
#ifndef GPUMEMTRACE_LIVE_PROCESS_REFUSED_CALLS_H
#define GPUMEMTRACE_LIVE_PROCESS_REFUSED_CALLS_H

/* From now on these calls fail with EPERM in all threads: they start programs and processes (threads may be started),
 * write to other processes, change the user, mounts, modules, devices, the clock, or open sockets. Sets no_new_privs.
 * Cannot be undone. 0 or -errno. */
int refuse_calls(void);

#endif
