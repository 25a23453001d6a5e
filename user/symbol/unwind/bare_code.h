/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds arm64's code that no .eh_frame describes: PLTs, a program's entry, and the vDSO's return from a signal's
 * handler. */
#ifndef GPUMEMTRACE_SYMBOL_UNWIND_BARE_CODE_H
#define GPUMEMTRACE_SYMBOL_UNWIND_BARE_CODE_H

#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/unwind.h>

struct image;

/* Code and the row that is true of it. No padding: a table's key has the hash of these. */
struct bare_code {
	uint64_t start, end;     /* vaddrs */
	struct gmt_unwind_row row; /* pc is 0 */
};

#define BARE_CODE_MAX 5

/* Returns how many there are; of other machines than arm64: none. */
size_t bare_code_find(const struct image *image, struct bare_code found[BARE_CODE_MAX]);

#endif
