/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Takes from the tracer what tracing does not need. The tracer reads memory, files and names of processes that may be
 * hostile: whoever takes the tracer over gets what is kept here. A command behind `--` is started before
 * (live/process/launch.h).
 */
#ifndef GPUMEMTRACE_PRIVILEGES_H
#define GPUMEMTRACE_PRIVILEGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct options;

/*
 * A file with capabilities (setcap) gives its privileges to everybody who may run it. They are for tracing: the files
 * that the user names are read without them. True: this process has such privileges, and has laid them aside. Call
 * before anything else.
 */
bool privileges_lay_aside(void);

/* Before tracing: uses again what was laid aside. */
void privileges_take_up(void);

/* Of the options, the one that makes this process load code, or trust files, that the user chose; NULL: none. */
const char *privileges_dangerous_option(const struct options *options);

/* Raises the limits of descriptors and of locked memory as far as this process may, and keeps the capabilities that
 * tracing needs, and those that this kernel or the outputs' directories ask for. Call before the first thread, and
 * before the BPF programs are loaded. multi: as in uprobe.h. */
void privileges_drop(const struct options *options, bool multi);

/* Forbids the system calls that the tracer does not need, in all threads and for good: other programs, processes,
 * users, mounts, sockets. Call when the children that the setup needs have been forked and NVML is open. */
void privileges_close(void);

/* Writes the names of the capabilities: "BPF PERFMON SYS_PTRACE". */
void privileges_names(uint64_t capabilities, char *text, size_t size);

#endif
