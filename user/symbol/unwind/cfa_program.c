// SPDX-License-Identifier: BSD-2-Clause
/*
 * ehframe_rows(): runs call frame instructions (DWARF 5, 6.4.2; numbers 7.24). It follows only the rules that a stack
 * walk needs: the rules for the CFA, the frame pointer and the return address.
 */
#include "symbol/unwind/ehframe.h"

#include <string.h>

#include "symbol/unwind/cfa_arch.h"

enum {
	CFA_ADVANCE_LOC = 0x40, CFA_OFFSET = 0x80, CFA_RESTORE = 0xc0,
	CFA_NOP = 0x00, CFA_SET_LOC, CFA_ADVANCE_LOC1, CFA_ADVANCE_LOC2, CFA_ADVANCE_LOC4,
	CFA_OFFSET_EXTENDED, CFA_RESTORE_EXTENDED, CFA_UNDEFINED, CFA_SAME_VALUE, CFA_REGISTER,
	CFA_REMEMBER_STATE, CFA_RESTORE_STATE, CFA_DEF_CFA, CFA_DEF_CFA_REGISTER, CFA_DEF_CFA_OFFSET,
	CFA_DEF_CFA_EXPRESSION, CFA_EXPRESSION, CFA_OFFSET_EXTENDED_SF, CFA_DEF_CFA_SF,
	CFA_DEF_CFA_OFFSET_SF, CFA_VAL_OFFSET, CFA_VAL_OFFSET_SF, CFA_VAL_EXPRESSION,
	CFA_GNU_ARGS_SIZE = 0x2e, CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f, /* binutils, dwarf2.def */
	/* DWARF for the Arm 64-bit Architecture, "Call frame instructions". */
	CFA_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c, CFA_AARCH64_NEGATE_RA_STATE = 0x2d,
};

/* Expression operators, 7.7.1. */
enum {
	OP_DEREF = 0x06, OP_AND = 0x1a, OP_PLUS = 0x22, OP_SHL = 0x24, OP_GE = 0x2a, OP_LIT0 = 0x30,
	OP_BREG0 = 0x70,
};

/* GCC nests remembered states two deep at most; hand-written code has been seen with more. */
#define REMEMBERED_MAX 16

struct machine {
	const struct eh_cie *cie;
	const struct cfa_arch *arch;
	struct cfa_rules now, initial;
	struct cfa_rules remembered[REMEMBERED_MAX];
	size_t depth;
	uint64_t at, size;          /* offset from the FDE's start, and its size */
	uint64_t start;
	bool failed;
	ehframe_emit emit;          /* NULL while the CIE's program runs */
	void *arg;
};

static struct gmt_unwind_row row_of(const struct machine *m)
{
	struct gmt_unwind_row row = { .rule = GMT_UNWIND_UNSUPPORTED };

	if (m->failed)
		return row;
	if (m->cie->is_signal)
		return (struct gmt_unwind_row){ .rule = GMT_UNWIND_SIGNAL };
	if (m->now.ra.saved == SAVED_UNDEFINED)
		return (struct gmt_unwind_row){ .rule = GMT_UNWIND_STOP };
	m->arch->to_row(&m->now, &row);
	return row;
}

static void emit_row(struct machine *m)
{
	struct gmt_unwind_row row = row_of(m);

	if (m->emit && m->at < m->size)
		m->emit(m->arg, m->at, &row);
}

static void advance_by(struct machine *m, uint64_t delta)
{
	if (__builtin_mul_overflow(delta, m->cie->code_align, &delta))
		delta = UINT64_MAX;
	if (!delta)
		return;
	emit_row(m);
	if (__builtin_add_overflow(m->at, delta, &m->at))
		m->at = UINT64_MAX;
}

/* Advances to an absolute address, which must not lie before the current one. */
static void set_location(struct machine *m, uint64_t address)
{
	uint64_t at = address - m->start;

	if (address < m->start || at < m->at) {
		m->failed = true;
	} else if (at > m->at) {
		emit_row(m);
		m->at = at;
	}
}

static struct cfa_place *place_of(const struct machine *m, struct cfa_rules *rules, uint64_t reg)
{
	return reg == m->arch->fp ? &rules->fp : reg == m->arch->ra ? &rules->ra : &rules->other;
}

static void put_rule(struct machine *m, uint64_t reg, enum saved saved, int64_t offset)
{
	*place_of(m, &m->now, reg) = (struct cfa_place){ saved, offset };
}

static void restore_rule(struct machine *m, uint64_t reg)
{
	*place_of(m, &m->now, reg) = *place_of(m, &m->initial, reg);
}

static int64_t scale_offset(const struct machine *m, int64_t factor)
{
	int64_t value;

	/* A row can only hold multiples of 8. */
	return __builtin_mul_overflow(factor, m->cie->data_align, &value) ? 1 : value;
}

/*
 * Recognises the expressions that compilers and linkers use on x86-64 by their bytes. ld writes one for all of .plt
 * (binutils, bfd/elfxx-x86.c, elf_x86_64_eh_frame_plt): rsp + 8 + ((rip & 15) >= 11) * 8, 10 or 9 in the variants for
 * IBT. GCC finds the CFA of a realigned stack in a slot below rbp.
 */
static void cfa_expression(struct machine *m, struct eh_cursor expression)
{
	static const unsigned char head[] = { OP_BREG0 + CFA_X86_SP, 8, OP_BREG0 + CFA_X86_RA, 0, OP_LIT0 + 15,
					      OP_AND };
	static const unsigned char tail[] = { OP_GE, OP_LIT0 + 3, OP_SHL, OP_PLUS };
	const unsigned char *p = expression.p;
	size_t size = (size_t)(expression.end - expression.p);
	struct cfa_rules *rules = &m->now;

	rules->cfa = CFA_IS_UNKNOWN;
	if (!m->arch->has_expressions)
		return;
	if (size == sizeof(head) + 1 + sizeof(tail) && !memcmp(p, head, sizeof(head)) &&
	    p[sizeof(head)] >= OP_LIT0 && p[sizeof(head)] <= OP_LIT0 + 15 &&
	    !memcmp(p + sizeof(head) + 1, tail, sizeof(tail))) {
		rules->cfa = CFA_IS_PLT;
		rules->offset = p[sizeof(head)] - OP_LIT0;
	} else if (size >= 3 && p[0] == OP_BREG0 + CFA_X86_FP) {
		eh_u8(&expression);
		rules->offset = eh_sleb(&expression);
		if (eh_u8(&expression) == OP_DEREF && expression.p == expression.end && !expression.is_bad)
			rules->cfa = CFA_IS_DEREF;
	}
}

static void reg_expression(struct machine *m, uint64_t reg, struct eh_cursor expression)
{
	bool at_fp = m->arch->has_expressions && expression.end - expression.p == 2 &&
		     expression.p[0] == OP_BREG0 + CFA_X86_FP && expression.p[1] == 0;

	put_rule(m, reg, at_fp && reg == CFA_X86_FP ? SAVED_AT_FP : SAVED_ELSEWHERE, 0);
}

static void remember_rules(struct machine *m)
{
	if (m->depth == REMEMBERED_MAX)
		m->failed = true;
	else
		m->remembered[m->depth++] = m->now;
}

static void recall_rules(struct machine *m)
{
	if (!m->depth)
		m->failed = true;
	else
		m->now = m->remembered[--m->depth];
}

static void define_cfa(struct machine *m, uint64_t reg, int64_t offset)
{
	m->now.cfa = CFA_IS_REGISTER;
	m->now.reg = reg;
	m->now.offset = offset;
}

/* 6.4.2.2: valid only while the CFA is a register and an offset. */
static void define_offset(struct machine *m, int64_t offset)
{
	if (m->now.cfa != CFA_IS_REGISTER)
		m->now.cfa = CFA_IS_UNKNOWN;
	m->now.offset = offset;
}

/* Runs the instructions about one register. */
static void reg_instruction(struct machine *m, uint8_t op, struct eh_cursor *c)
{
	uint64_t reg = eh_uleb(c);

	switch (op) {
	case CFA_OFFSET_EXTENDED:
		put_rule(m, reg, SAVED_OFFSET, scale_offset(m, (int64_t)eh_uleb(c)));
		break;
	case CFA_OFFSET_EXTENDED_SF:
		put_rule(m, reg, SAVED_OFFSET, scale_offset(m, eh_sleb(c)));
		break;
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		put_rule(m, reg, SAVED_OFFSET, scale_offset(m, (int64_t)(0 - eh_uleb(c))));
		break;
	case CFA_RESTORE_EXTENDED:
		restore_rule(m, reg);
		break;
	case CFA_UNDEFINED:
		put_rule(m, reg, SAVED_UNDEFINED, 0);
		break;
	case CFA_SAME_VALUE:
		put_rule(m, reg, SAVED_SAME, 0);
		break;
	case CFA_EXPRESSION:
		reg_expression(m, reg, eh_sub(c, eh_uleb(c)));
		break;
	case CFA_REGISTER:
	case CFA_VAL_OFFSET:
	case CFA_VAL_OFFSET_SF:
		eh_uleb(c);
		put_rule(m, reg, SAVED_ELSEWHERE, 0);
		break;
	case CFA_VAL_EXPRESSION:
		eh_sub(c, eh_uleb(c));
		put_rule(m, reg, SAVED_ELSEWHERE, 0);
		break;
	default:
		m->failed = true;
	}
}

static void run_instruction(struct machine *m, uint8_t op, struct eh_cursor *c)
{
	uint64_t reg;

	switch (op) {
	case CFA_NOP:
		break;
	case CFA_SET_LOC:
		set_location(m, eh_pointer(c, m->cie->fde_encoding));
		break;
	case CFA_ADVANCE_LOC1:
		advance_by(m, eh_u8(c));
		break;
	case CFA_ADVANCE_LOC2:
		advance_by(m, eh_u16(c));
		break;
	case CFA_ADVANCE_LOC4:
		advance_by(m, eh_u32(c));
		break;
	case CFA_REMEMBER_STATE:
		remember_rules(m);
		break;
	case CFA_RESTORE_STATE:
		recall_rules(m);
		break;
	case CFA_DEF_CFA:
		reg = eh_uleb(c);
		define_cfa(m, reg, (int64_t)eh_uleb(c));
		break;
	case CFA_DEF_CFA_SF:
		reg = eh_uleb(c);
		define_cfa(m, reg, scale_offset(m, eh_sleb(c)));
		break;
	case CFA_DEF_CFA_REGISTER:
		define_cfa(m, eh_uleb(c), m->now.offset);
		break;
	case CFA_DEF_CFA_OFFSET:
		define_offset(m, (int64_t)eh_uleb(c));
		break;
	case CFA_DEF_CFA_OFFSET_SF:
		define_offset(m, scale_offset(m, eh_sleb(c)));
		break;
	case CFA_DEF_CFA_EXPRESSION:
		cfa_expression(m, eh_sub(c, eh_uleb(c)));
		break;
	case CFA_GNU_ARGS_SIZE:
		eh_uleb(c);
		break;
	case CFA_AARCH64_NEGATE_RA_STATE:
	case CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
		/* Who walks removes the signature of each return address, whether or not the address is signed. */
		m->failed |= !m->arch->signs_returns;
		break;
	default:
		reg_instruction(m, op, c);
	}
}

static void run_program(struct machine *m, struct eh_cursor c)
{
	while (c.p < c.end && !m->failed && m->at < m->size) {
		uint8_t op = eh_u8(&c);

		switch (op & 0xc0) {
		case CFA_ADVANCE_LOC:
			advance_by(m, op & 0x3f);
			break;
		case CFA_OFFSET:
			put_rule(m, op & 0x3f, SAVED_OFFSET, scale_offset(m, (int64_t)eh_uleb(&c)));
			break;
		case CFA_RESTORE:
			restore_rule(m, op & 0x3f);
			break;
		default:
			run_instruction(m, op, &c);
		}
		m->failed |= c.is_bad;
	}
}

void ehframe_rows(const struct ehframe *eh, const struct eh_fde *fde, ehframe_emit emit, void *arg)
{
	const struct eh_cie *cie = &eh->cies[fde->cie];
	struct machine m = { .cie = cie, .arch = eh->arch, .size = fde->size, .start = fde->start, .arg = arg };

	m.now.cfa = CFA_IS_UNKNOWN;
	run_program(&m, eh_cursor(&eh->bytes, cie->program, cie->program_size));
	m.initial = m.now;
	m.at = 0;
	m.emit = emit;
	run_program(&m, eh_cursor(&eh->bytes, fde->program, fde->program_size));
	emit_row(&m);
}
