/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The call frame information of a module (.eh_frame): finds CIEs and FDEs and turns their programs into rows
 * (unwind.h).
 *
 * Bytes are untrusted: a length that leads out of the bytes is an error, and nothing is read there. Entries before the
 * damage in a section are used.
 */
#ifndef GPUMEMTRACE_SYMBOL_UNWIND_EHFRAME_H
#define GPUMEMTRACE_SYMBOL_UNWIND_EHFRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/unwind.h>

#include "symbol/elf/ehread.h"

/* 32 bytes: a torch library has 220 000. */
struct eh_fde {
	uint64_t start;          /* vaddr of the code */
	uint64_t size;
	uint32_t cie;            /* index */
	uint32_t program_size;
	size_t program;          /* offset in the section */
};

struct cfa_arch;

struct ehframe {
	struct eh_bytes bytes;
	const struct cfa_arch *arch;
	struct eh_cie *cies;
	size_t cie_count;
	struct eh_fde *fdes;     /* in the order of the section */
	size_t fde_count;
	bool is_damaged;         /* parsing stopped before the end */
};

/* Reads all entries. `bytes` must stay. `stop_at_zero`: the section's size is not known, and a zero length ends
 * the section. 0; -ENOTSUP: `machine` is neither EM_X86_64 nor EM_AARCH64. */
int ehframe_parse(struct ehframe *eh, const struct eh_bytes *bytes, uint16_t machine, bool stop_at_zero);
void ehframe_fini(struct ehframe *eh);

/*
 * Runs the program of an FDE: `emit` gets a row for each place where the rule may change, in ascending
 * order, the first one at the start. row.pc is the offset from the FDE's start. A program that cannot
 * be followed makes the rest of the FDE UNSUPPORTED.
 */
typedef void (*ehframe_emit)(void *arg, uint64_t offset, const struct gmt_unwind_row *row);
void ehframe_rows(const struct ehframe *eh, const struct eh_fde *fde, ehframe_emit emit, void *arg);

#endif
