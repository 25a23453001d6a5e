/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The static probes (USDT) of a library: places in its code, listed in its notes (.note.stapsdt). A place has
 * arguments, and may have a counter of its listeners: while the counter is 0, the code skips the place.
 * A damaged file is an error, never a crash.
 */
#ifndef GPUMEMTRACE_LIVE_PROBE_USDT_NOTES_H
#define GPUMEMTRACE_LIVE_PROBE_USDT_NOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/usdt.h>

struct usdt_place {
	uint64_t offset;         /* in the file */
	uint64_t counter;        /* likewise; 0: none */
	struct gmt_usdt usdt;
};

/* Parses the arguments of a note, such as "-8@%rax -1@%dl 8@-56(%rbp) -4@$0", with this machine's registers. Returns
 * the number of arguments, of which at most GMT_USDT_ARGS are taken; -EINVAL; -ENOTSUP: an argument lies in a place
 * that BPF cannot read. */
int usdt_parse_args(const char *text, struct gmt_usdt *out);

/* Finds the places of one probe with at least `args` arguments. Places whose arguments cannot be read are left out.
 * Returns the number of places; -errno; -ENOEXEC: no library for this machine; -E2BIG: more than `most` places, or too
 * many notes. Closes the descriptor. */
int usdt_find(int fd, const char *provider, const char *name, int args, struct usdt_place *out, size_t most);

/* Whether a place can be one of a file of this size: for places that another process found. */
bool usdt_is_sound(const struct usdt_place *place, uint64_t file_size);

#endif
