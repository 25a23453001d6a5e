// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/unwind/cfa_arch.h"

#include <elf.h>
#include <stddef.h>

#include "base/count.h"

/* Register numbers, DWARF for the Arm 64-bit Architecture, "DWARF register names". */
#define ARM64_FP 29
#define ARM64_RA 30
#define ARM64_SP 31

static bool fits_units(const struct cfa_rules *rules)
{
	return rules->offset % 8 == 0 && rules->offset / 8 >= INT16_MIN && rules->offset / 8 <= INT16_MAX;
}

/* ---- x86-64 ---- */

static uint8_t x86_fp(const struct cfa_place *fp)
{
	if (fp->saved == SAVED_SAME)
		return GMT_UNWIND_FP_SAME;
	if (fp->saved == SAVED_AT_FP)
		return GMT_UNWIND_FP_AT_FP;
	if (fp->saved == SAVED_OFFSET && fp->offset < 0 && fp->offset % 8 == 0 && fp->offset / 8 >= -GMT_UNWIND_FP_MAX)
		return (uint8_t)(-fp->offset / 8);
	return GMT_UNWIND_FP_LOST;
}

static void x86_row(const struct cfa_rules *rules, struct gmt_unwind_row *row)
{
	if (rules->ra.saved != SAVED_OFFSET || rules->ra.offset != -8)
		return;
	if (rules->cfa == CFA_IS_PLT) {
		*row = (struct gmt_unwind_row){ .rule = GMT_UNWIND_PLT, .cfa = (int16_t)rules->offset,
						.fp = x86_fp(&rules->fp) };
		return;
	}
	if (!fits_units(rules))
		return;
	if (rules->cfa == CFA_IS_DEREF)
		row->rule = GMT_UNWIND_DEREF;
	else if (rules->cfa == CFA_IS_REGISTER && rules->reg == CFA_X86_SP)
		row->rule = GMT_UNWIND_SP;
	else if (rules->cfa == CFA_IS_REGISTER && rules->reg == CFA_X86_FP)
		row->rule = GMT_UNWIND_FP;
	else
		return;
	row->cfa = (int16_t)(rules->offset / 8);
	row->fp = x86_fp(&rules->fp);
}

/* ---- arm64 ---- */

/*
 * Compilers save x29 and x30 at the bottom of a frame or at its top, so the place is told from the CFA or, in large
 * frames, from the CFA's register. What belongs to a function lies below its CFA. glibc's _dl_runtime_resolve() says
 * that x30 lies above: its CFA is 16 bytes below the caller's stack pointer, so a walk on from there would be wrong.
 */
static bool arm64_slot(const struct cfa_rules *rules, int64_t offset, struct gmt_unwind_row *row)
{
	int64_t up = rules->offset + offset;

	if (offset % 8)
		return false;
	if (offset >= -8 * GMT_UNWIND_SLOT_MAX)
		row->fp = (uint8_t)(-offset / 8);
	else if (up >= 0 && up <= 8 * GMT_UNWIND_SLOT_MAX)
		row->fp = (uint8_t)(GMT_UNWIND_SLOT_UP | up / 8);
	else
		return false;
	return true;
}

static bool arm64_is_below(const struct cfa_place *place)
{
	return place->saved == SAVED_OFFSET && place->offset < 0 && place->offset > -(1 << 20);
}

/* Where the caller's x29 and x30 are. False: a row cannot say it. */
static bool arm64_saved(const struct cfa_rules *rules, struct gmt_unwind_row *row)
{
	const struct cfa_place *fp = &rules->fp, *ra = &rules->ra;

	if (ra->saved == SAVED_SAME)
		return fp->saved == SAVED_SAME;
	if (!arm64_is_below(ra))
		return false;
	if (arm64_is_below(fp))
		return ra->offset == fp->offset + 8 && arm64_slot(rules, fp->offset, row);
	row->rule = GMT_UNWIND_RA_ALONE;
	return fp->saved == SAVED_SAME && arm64_slot(rules, ra->offset, row);
}

/*
 * Debian 13's libffi keeps the record of ffi_call_SYSV() in memory of the caller. By the rules the CFA is where the
 * record is and where x29 points, which is not the caller's stack pointer. The caller finds its frame by x29.
 */
static bool arm64_is_record_at_cfa(const struct cfa_rules *rules)
{
	return rules->reg == ARM64_FP && !rules->offset && rules->fp.saved == SAVED_OFFSET && !rules->fp.offset &&
	       rules->ra.saved == SAVED_OFFSET && rules->ra.offset == 8;
}

static void arm64_row(const struct cfa_rules *rules, struct gmt_unwind_row *row)
{
	struct gmt_unwind_row made = { .cfa = (int16_t)(rules->offset / 8) };

	if (rules->cfa == CFA_IS_REGISTER && arm64_is_record_at_cfa(rules)) {
		/* Behind the record: a walk has to go up the stack. */
		*row = (struct gmt_unwind_row){ .rule = GMT_UNWIND_FP, .cfa = 2, .fp = 2 };
		return;
	}
	if (rules->cfa != CFA_IS_REGISTER || !fits_units(rules) || !arm64_saved(rules, &made))
		return;
	if (rules->reg == ARM64_SP)
		made.rule |= GMT_UNWIND_SP;
	else if (rules->reg == ARM64_FP)
		made.rule |= GMT_UNWIND_FP;
	else
		return;
	*row = made;
}

static const struct cfa_arch archs[] = {
	{ EM_X86_64, CFA_X86_FP, CFA_X86_RA, true, false, x86_row },
	{ EM_AARCH64, ARM64_FP, ARM64_RA, false, true, arm64_row },
};

const struct cfa_arch *cfa_arch_of(uint16_t machine)
{
	for (size_t i = 0; i < COUNT(archs); i++)
		if (archs[i].machine == machine)
			return &archs[i];
	return NULL;
}
