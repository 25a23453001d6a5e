/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that is always there: when memory runs out, each function ends the program with a sentence and exit status 1.
 * quick_exit() runs what the program has given to at_quick_exit(), which may choose another status. */
#ifndef GPUMEMTRACE_BASE_XALLOC_H
#define GPUMEMTRACE_BASE_XALLOC_H

#include <stddef.h>
#include <stdint.h>

/* Says that memory has run out. Needs no memory. */
void xalloc_tell(void);
/* The same, and ends the program, on any thread. */
void xalloc_failed(void) __attribute__((noreturn));
/* From now on the program can get about `bytes` more memory, and none beyond. 0 or -errno: there is no bound then. */
int xalloc_bound(uint64_t bytes);

void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *ptr, size_t size);
void *xreallocarray(void *ptr, size_t count, size_t size);
/* Lists that grow by one item. Each function returns the list, which may have moved. The room is a power of two, and
 * must come from these functions alone. Makes room for one more item behind `count` items. */
void *xgrow(void *list, size_t count, size_t item_size);
/* The least room for `count` items, as xgrow() expects: the rest is given back. list: NULL begins a list. */
void *xfit(void *list, size_t count, size_t item_size);
/* Puts items of zeros behind the last one until the list has one at `index`. */
void *xreach(void *list, size_t *count, size_t index, size_t item_size);
char *xstrdup(const char *text);

#endif
