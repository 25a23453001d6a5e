/* SPDX-License-Identifier: BSD-2-Clause */
/* What call frame instructions say of a place in the code, and how each machine's rules become a row (unwind.h). */
#ifndef GPUMEMTRACE_SYMBOL_UNWIND_CFA_ARCH_H
#define GPUMEMTRACE_SYMBOL_UNWIND_CFA_ARCH_H

#include <stdbool.h>
#include <stdint.h>

#include <gpumemtrace/unwind.h>

/* Register numbers, System V ABI for x86-64, figure 3.36. Expressions are read on x86-64 alone. */
#define CFA_X86_FP 6
#define CFA_X86_SP 7
#define CFA_X86_RA 16

enum saved {
	SAVED_SAME,      /* also without a rule */
	SAVED_OFFSET,    /* at CFA + offset */
	SAVED_UNDEFINED,
	SAVED_AT_FP,     /* at *rbp */
	SAVED_ELSEWHERE,
};

struct cfa_place {
	enum saved saved;
	int64_t offset;
};

enum cfa {
	CFA_IS_REGISTER,
	CFA_IS_PLT,      /* offset: the literal */
	CFA_IS_DEREF,    /* *(rbp + offset) */
	CFA_IS_UNKNOWN,
};

struct cfa_rules {
	enum cfa cfa;
	uint64_t reg;
	int64_t offset;
	struct cfa_place fp, ra;
	struct cfa_place other; /* for registers that no row names: written, never read */
};

struct cfa_arch {
	uint16_t machine;       /* EM_* */
	uint8_t fp, ra;         /* register numbers */
	bool has_expressions;   /* CFA_IS_PLT, CFA_IS_DEREF and SAVED_AT_FP may be */
	bool signs_returns;     /* return addresses may be signed */
	/* Fills in a row, which is UNSUPPORTED and stays so if it cannot say the rules. */
	void (*to_row)(const struct cfa_rules *rules, struct gmt_unwind_row *row);
};

/* NULL: rows cannot be made for this machine. */
const struct cfa_arch *cfa_arch_of(uint16_t machine);

#endif
