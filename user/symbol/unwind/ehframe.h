/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The call frame information of a module (.eh_frame, .eh_frame_hdr) as bytes: finds CIEs and FDEs and
 * runs their programs into rows (unwind.h). Sources: DWARF 5 section 6.4, Linux Standard Base 5
 * chapter 10 (.eh_frame and its pointer encodings).
 *
 * Bytes are untrusted: a length that leads out of them is an error, never a read. What of a damaged
 * section came before the damage is used.
 */
#ifndef GPUMEMTRACE_SYMBOL_UNWIND_EHFRAME_H
#define GPUMEMTRACE_SYMBOL_UNWIND_EHFRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/unwind.h>

/* Bytes of a file and the virtual address at which the module expects them. */
struct eh_bytes {
	const unsigned char *data;
	size_t size;
	uint64_t vaddr;
};

struct eh_cie {
	size_t offset;           /* in the section: FDEs name it */
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_column;
	size_t program, program_size;
	uint8_t fde_encoding;
	bool has_augmentation;   /* 'z': FDEs carry a length of their augmentation */
	bool is_signal;          /* 'S' */
	bool is_usable;          /* nothing in it is unknown */
};

/* 32 bytes: a torch library has 220 000. */
struct eh_fde {
	uint64_t start;          /* vaddr of the code */
	uint64_t size;
	uint32_t cie;            /* index */
	uint32_t program_size;
	size_t program;          /* offset in the section */
};

struct ehframe {
	struct eh_bytes bytes;
	struct eh_cie *cies;
	size_t cie_count, cie_capacity;
	struct eh_fde *fdes;     /* as they come */
	size_t fde_count, fde_capacity;
	uint16_t machine;        /* EM_X86_64 */
	bool is_damaged;         /* parsing stopped before the end */
};

/* Reads all entries. `bytes` must stay. Ends at a zero terminator when `stop_at_zero`: where the
 * section's size is not known, what follows is something else. 0; -ENOTSUP: no such machine. */
int ehframe_parse(struct ehframe *eh, const struct eh_bytes *bytes, uint16_t machine, bool stop_at_zero);
void ehframe_fini(struct ehframe *eh);

/* What the header (.eh_frame_hdr, PT_GNU_EH_FRAME) says. 0; -EINVAL: damaged or of an unknown kind. */
struct ehframe_hdr {
	uint64_t eh_frame;       /* vaddr of the section */
	uint64_t fde_count;      /* 0: there is no table */
};
int ehframe_hdr_parse(const struct eh_bytes *bytes, struct ehframe_hdr *hdr);

/*
 * Runs the program of an FDE: `emit` gets a row for each place where the rule may change, in ascending
 * order, the first one at the start. row.pc is the offset from the FDE's start. A program that cannot
 * be followed makes the rest of the FDE UNSUPPORTED.
 */
typedef void (*ehframe_emit)(void *arg, uint64_t offset, const struct gmt_unwind_row *row);
void ehframe_rows(const struct ehframe *eh, const struct eh_fde *fde, ehframe_emit emit, void *arg);

#endif
