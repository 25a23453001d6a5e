/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Static probes (USDT) that a library has: places in its code, which its notes (.note.stapsdt) tell. Each has
 * arguments, and may have a counter of who wants them: while that is 0 the code passes the place by.
 * Addresses in a file, as uprobes are placed; a damaged file is an error, never a crash.
 */
#ifndef GPUMEMTRACE_LIVE_PROBE_USDT_NOTES_H
#define GPUMEMTRACE_LIVE_PROBE_USDT_NOTES_H

#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/usdt.h>

struct usdt_place {
	uint64_t offset;         /* in the file */
	uint64_t counter;        /* likewise; 0: none */
	struct gmt_usdt usdt;
};

/* Arguments as a note has them, such as "-8@%rax -1@%dl 8@-56(%rbp) -4@$0", for this machine's registers. The
 * number of arguments, at most GMT_USDT_ARGS are taken; -EINVAL; -ENOTSUP: one lies where nobody looks. */
int usdt_parse_args(const char *text, struct gmt_usdt *out);

/* The places of one probe with at least `args` arguments, at most `most`. Those whose arguments cannot be
 * read are left out. How many; -errno, -ENOEXEC: no such file for this machine. */
int usdt_find(const char *path, const char *provider, const char *name, int args, struct usdt_place *out,
	      size_t most);

#endif
