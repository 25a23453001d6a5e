/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads files. A storage that fails is not the end of the file: who reads foreign files for others has to say so, and
 * libelf, which reads through this function too (GUARDED in the Makefile), keeps such an error to itself.
 */
#ifndef GPUMEMTRACE_BASE_STORAGE_H
#define GPUMEMTRACE_BASE_STORAGE_H

#include <sys/types.h>

/* pread(2). When the storage fails, a process that has a handler for SIGBUS gets this signal, as if the file was
 * mapped. */
ssize_t storage_pread(int fd, void *to, size_t size, off_t offset);

/* The same, by the name that other versions of libelf call. */
ssize_t storage_pread64(int fd, void *to, size_t size, off_t offset);

#endif
