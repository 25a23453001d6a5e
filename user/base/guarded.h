/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions of libc that end the process with a sentence when memory runs out; only the copies of libraries that the
 * Makefile makes (GUARDED) call these. */
#ifndef GPUMEMTRACE_BASE_GUARDED_H
#define GPUMEMTRACE_BASE_GUARDED_H

#include <stddef.h>
#include <sys/types.h>

void *guarded_tsearch(const void *key, void **root, int (*compare)(const void *, const void *));
int guarded_memalign(void **to, size_t alignment, size_t size);
char *guarded_strndup(const char *text, size_t size);
ssize_t guarded_write(int fd, const void *from, size_t size); /* to a file in memory */

/* There is no code to load. */
void *guarded_dlopen(const char *path, int flags);
void *guarded_dlsym(void *library, const char *name);
int guarded_dlclose(void *library);
char *guarded_dlerror(void);

#endif
