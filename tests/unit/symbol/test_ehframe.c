// SPDX-License-Identifier: BSD-2-Clause
/* Call frame information out of bytes: what is understood, what is not, and that nothing is read behind the end. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "cfi.h"
#include "symbol/unwind/ehframe.h"

#define ROWS_MAX 64
#define REMEMBERED 16            /* states that a function may remember at a time */
#define CIE_PROGRAM 1024         /* bytes of a CIE's program */
#define CIE_HEAD 17              /* bytes of cfi_cie() in front of the program */
#define CODE 0x401000ULL
#define P(...) (const unsigned char[]){ __VA_ARGS__ }, sizeof((const unsigned char[]){ __VA_ARGS__ })

struct rows {
	size_t count;
	uint64_t at[ROWS_MAX];
	struct gmt_unwind_row row[ROWS_MAX];
};

static void take(void *arg, uint64_t offset, const struct gmt_unwind_row *row)
{
	struct rows *rows = arg;

	assert_true(rows->count < ROWS_MAX);
	if (rows->count)
		assert_true(offset > rows->at[rows->count - 1]);
	rows->at[rows->count] = offset;
	rows->row[rows->count++] = *row;
}

/* The rows of the only FDE. */
static struct rows rows_of(const struct cfi *cfi, uint16_t machine)
{
	struct eh_bytes bytes = { cfi->data, cfi->size, CFI_VADDR };
	struct rows rows = { 0 };
	struct ehframe eh;

	assert_int_equal(ehframe_parse(&eh, &bytes, machine, false), 0);
	assert_false(eh.is_damaged);
	assert_int_equal(eh.fde_count, 1);
	assert_int_equal(eh.fdes[0].start, CODE);
	ehframe_rows(&eh, &eh.fdes[0], take, &rows);
	ehframe_fini(&eh);
	return rows;
}

static struct rows run(const void *program, size_t size)
{
	struct cfi cfi = { 0 };

	cfi_cie(&cfi, "zR", 0x1b);
	cfi_fde(&cfi, CODE, 0x100, program, size);
	return rows_of(&cfi, EM_X86_64);
}

static struct rows run_arm64(const void *program, size_t size)
{
	struct cfi cfi = { 0 };

	cfi_cie_arm64(&cfi, "zR");
	cfi_fde(&cfi, CODE, 0x100, program, size);
	return rows_of(&cfi, EM_AARCH64);
}

static void expect(const struct rows *rows, size_t i, uint64_t at, int rule, int cfa, int fp)
{
	assert_true(i < rows->count);
	assert_int_equal(rows->at[i], at);
	assert_int_equal(rows->row[i].rule, rule);
	assert_int_equal(rows->row[i].cfa, cfa);
	assert_int_equal(rows->row[i].fp, fp);
}

static void frame_pointer_function(void **state)
{
	/* push rbp: CFA 16, rbp at -16; mov rsp, rbp: CFA rbp; leave: CFA rsp + 8 */
	struct rows rows = run(P(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x02, 0x50, 0x0c, 7, 8, 0xc6));

	(void)state;
	assert_int_equal(rows.count, 4);
	expect(&rows, 0, 0, GMT_UNWIND_SP, 1, GMT_UNWIND_FP_SAME);
	expect(&rows, 1, 1, GMT_UNWIND_SP, 2, 2);
	expect(&rows, 2, 4, GMT_UNWIND_FP, 2, 2);
	expect(&rows, 3, 0x54, GMT_UNWIND_SP, 1, GMT_UNWIND_FP_SAME);
}

static void states_are_remembered(void **state)
{
	struct rows rows = run(P(0x0a, 0x41, 0x0e, 16, 0x0a, 0x41, 0x0e, 24, 0x41, 0x0b, 0x41, 0x0b));

	(void)state;
	expect(&rows, 1, 1, GMT_UNWIND_SP, 2, 0);
	expect(&rows, 2, 2, GMT_UNWIND_SP, 3, 0);
	expect(&rows, 3, 3, GMT_UNWIND_SP, 2, 0);
	expect(&rows, 4, 4, GMT_UNWIND_SP, 1, 0);
	rows = run(P(0x41, 0x0b));   /* nothing to recall */
	expect(&rows, 1, 1, GMT_UNWIND_UNSUPPORTED, 0, 0);
}

static void every_advance(void **state)
{
	struct rows rows = run(P(0x41, 0x0e, 16, 0x02, 2, 0x0e, 24, 0x03, 3, 0, 0x0e, 32, 0x04, 4, 0, 0, 0, 0x0e, 40));

	(void)state;
	assert_int_equal(rows.count, 5);
	expect(&rows, 4, 10, GMT_UNWIND_SP, 5, 0);
	rows = run(P(0x41, 0x40, 0x0e, 16, 0x04, 0xff, 0xff, 0xff, 0xff, 0x0e, 24));   /* to behind its end */
	assert_int_equal(rows.count, 2);
}

static void expressions(void **state)
{
	struct rows rows = run(P(0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22));

	(void)state;
	expect(&rows, 0, 0, GMT_UNWIND_PLT, 11, 0);
	rows = run(P(0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3a, 0x2a, 0x33, 0x24, 0x22));
	expect(&rows, 0, 0, GMT_UNWIND_PLT, 10, 0);
	rows = run(P(0x0f, 11, 0x77, 16, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22));
	expect(&rows, 0, 0, GMT_UNWIND_UNSUPPORTED, 0, 0);
	rows = run(P(0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0));   /* *(rbp - 8), rbp at *rbp */
	expect(&rows, 0, 0, GMT_UNWIND_DEREF, -1, GMT_UNWIND_FP_AT_FP);
	rows = run(P(0x0f, 4, 0x76, 0x78, 0x06, 0x96));
	expect(&rows, 0, 0, GMT_UNWIND_UNSUPPORTED, 0, 0);
	rows = run(P(0x10, 6, 2, 0x76, 8));
	expect(&rows, 0, 0, GMT_UNWIND_SP, 1, GMT_UNWIND_FP_LOST);
	rows = run(P(0x0f, 3, 0x76, 0x78, 0x06, 0x41, 0x0e, 16));   /* an offset, but from what? */
	expect(&rows, 1, 1, GMT_UNWIND_UNSUPPORTED, 0, 0);
}

static void places_of_the_frame_pointer(void **state)
{
	struct rows rows = run(P(0x05, 6, 0xfd, 1));

	(void)state;
	expect(&rows, 0, 0, GMT_UNWIND_SP, 1, GMT_UNWIND_FP_MAX);
	rows = run(P(0x05, 6, 0xfe, 1));
	expect(&rows, 0, 0, GMT_UNWIND_SP, 1, GMT_UNWIND_FP_LOST);
	rows = run(P(0x2f, 6, 0x7e));   /* above the CFA */
	expect(&rows, 0, 0, GMT_UNWIND_SP, 1, GMT_UNWIND_FP_LOST);
	rows = run(P(0x11, 6, 2));
	expect(&rows, 0, 0, GMT_UNWIND_SP, 1, 2);
	rows = run(P(0x07, 6, 0x41, 0x08, 6, 0x41, 0x09, 6, 0, 0x41, 0x06, 6, 0x41, 0x14, 6, 2, 0x41, 0x16, 6, 1, 0x30));
	expect(&rows, 0, 0, GMT_UNWIND_SP, 1, GMT_UNWIND_FP_LOST);
	expect(&rows, 1, 1, GMT_UNWIND_SP, 1, GMT_UNWIND_FP_SAME);
	expect(&rows, 2, 2, GMT_UNWIND_SP, 1, GMT_UNWIND_FP_LOST);
	expect(&rows, 3, 3, GMT_UNWIND_SP, 1, GMT_UNWIND_FP_SAME);
	expect(&rows, 4, 4, GMT_UNWIND_SP, 1, GMT_UNWIND_FP_LOST);
	expect(&rows, 5, 5, GMT_UNWIND_SP, 1, GMT_UNWIND_FP_LOST);
}

static void what_no_row_can_say(void **state)
{
	struct rows rows = run(P(0x0e, 12));

	(void)state;
	expect(&rows, 0, 0, GMT_UNWIND_UNSUPPORTED, 0, 0);
	rows = run(P(0x0c, 3, 16));                          /* CFA from rbx */
	expect(&rows, 0, 0, GMT_UNWIND_UNSUPPORTED, 0, 0);
	rows = run(P(0x0e, 0xf8, 0xff, 0x0f));               /* 32767 words, the most */
	expect(&rows, 0, 0, GMT_UNWIND_SP, 32767, 0);
	rows = run(P(0x0e, 0x80, 0x80, 0x10));
	expect(&rows, 0, 0, GMT_UNWIND_UNSUPPORTED, 0, 0);
	rows = run(P(0x90, 2));                              /* return address elsewhere */
	expect(&rows, 0, 0, GMT_UNWIND_UNSUPPORTED, 0, 0);
	rows = run(P(0x90, 2, 0x41, 0xd0));                  /* and back to where the CIE had it */
	expect(&rows, 1, 1, GMT_UNWIND_SP, 1, 0);
	rows = run(P(0x41, 0x1c));                           /* no such instruction */
	expect(&rows, 0, 0, GMT_UNWIND_SP, 1, 0);
	expect(&rows, 1, 1, GMT_UNWIND_UNSUPPORTED, 0, 0);
	rows = run(P(0x41, 0x0f, 0x7f));                     /* expression longer than the entry */
	expect(&rows, 1, 1, GMT_UNWIND_UNSUPPORTED, 0, 0);
}

static void root_and_signal(void **state)
{
	struct cfi cfi = { 0 };
	struct rows rows = run(P(0x07, 16));

	(void)state;
	expect(&rows, 0, 0, GMT_UNWIND_STOP, 0, 0);
	cfi_cie(&cfi, "zRS", 0x1b);
	cfi_fde(&cfi, CODE, 9, P(0x0f, 4, 0x77, 0xa0, 1, 0x06));
	rows = rows_of(&cfi, EM_X86_64);
	assert_int_equal(rows.count, 1);
	expect(&rows, 0, 0, GMT_UNWIND_SIGNAL, 0, 0);
}

static struct ehframe parse(const struct cfi *cfi, bool stop_at_zero)
{
	struct eh_bytes bytes = { cfi->data, cfi->size, CFI_VADDR };
	struct ehframe eh;

	assert_int_equal(ehframe_parse(&eh, &bytes, EM_X86_64, stop_at_zero), 0);
	return eh;
}

static void entries(void **state)
{
	struct cfi cfi = { 0 };
	struct ehframe eh;
	size_t begin;

	(void)state;
	cfi_cie(&cfi, "zR", 0x1b);
	cfi_fde(&cfi, CODE, 16, P(0));
	cfi_put(&cfi, 0, 4);
	cfi_cie(&cfi, "zQR", 0x1b);              /* a letter nobody knows: its FDEs are left out */
	cfi_fde(&cfi, CODE + 16, 16, P(0));
	cfi_cie(&cfi, "zR", 0x00);               /* absolute addresses of 8 bytes, and 64-bit lengths */
	cfi_put(&cfi, 0xffffffff, 4);
	cfi_put(&cfi, 4 + 16 + 4, 8);
	cfi_put(&cfi, cfi.size - cfi.cie, 4);
	cfi_put(&cfi, CODE + 0x123456789abULL, 8);
	cfi_put(&cfi, 32, 8);
	cfi_put(&cfi, 0, 4);
	eh = parse(&cfi, false);
	assert_int_equal(eh.fde_count, 2);
	assert_int_equal(eh.fdes[1].start, CODE + 0x123456789abULL);
	assert_int_equal(eh.fdes[1].size, 32);
	assert_false(eh.is_damaged);
	ehframe_fini(&eh);
	eh = parse(&cfi, true);
	assert_int_equal(eh.fde_count, 1);
	ehframe_fini(&eh);
	begin = cfi_begin(&cfi);                 /* an FDE of nothing */
	cfi_put(&cfi, 3, 4);
	cfi_end(&cfi, begin);
	cfi_fde(&cfi, CODE, 16, P(0));
	eh = parse(&cfi, false);
	assert_int_equal(eh.fde_count, 2);
	assert_true(eh.is_damaged);
	ehframe_fini(&eh);
}

/* One more of what a compiler never needs many of: the rest of the function has no rows that could be wrong. */
static void remembered_states_are_bounded(void **state)
{
	unsigned char program[REMEMBERED + 4];
	struct rows rows;

	(void)state;
	memset(program, 0x0a, sizeof(program));
	memcpy(program + REMEMBERED, (const unsigned char[]){ 0x41, 0x0e, 16 }, 3);
	rows = run(program, REMEMBERED + 3);
	expect(&rows, 1, 1, GMT_UNWIND_SP, 2, 0);
	program[REMEMBERED] = 0x0a;
	memcpy(program + REMEMBERED + 1, (const unsigned char[]){ 0x41, 0x0e, 16 }, 3);
	rows = run(program, REMEMBERED + 4);
	assert_int_equal(rows.count, 1);
	expect(&rows, 0, 0, GMT_UNWIND_UNSUPPORTED, 0, 0);
}

/* The functions of a CIE with a longer program are left out, and the others are read. */
static void programs_of_cies_are_bounded(void **state)
{
	(void)state;
	for (size_t over = 0; over < 2; over++) {
		struct cfi cfi = { 0 };
		struct ehframe eh;
		uint32_t length;

		cfi_cie(&cfi, "zR", 0x1b);
		while (cfi.size < CIE_HEAD + CIE_PROGRAM + over)
			cfi_put(&cfi, 0, 1);
		length = (uint32_t)cfi.size - 4;
		memcpy(cfi.data + cfi.cie, &length, sizeof(length));
		cfi_fde(&cfi, CODE, 16, P(0));
		cfi_cie(&cfi, "zR", 0x1b);
		cfi_fde(&cfi, CODE + 16, 16, P(0));
		eh = parse(&cfi, false);
		assert_int_equal(eh.fde_count, over ? 1 : 2);
		assert_int_equal(eh.fdes[0].start, over ? CODE + 16 : CODE);
		assert_false(eh.is_damaged);
		ehframe_fini(&eh);
	}
}

static void other_machines(void **state)
{
	struct eh_bytes bytes = { (const unsigned char *)"", 0, 0 };
	struct ehframe eh;

	(void)state;
	assert_int_equal(ehframe_parse(&eh, &bytes, EM_RISCV, false), -ENOTSUP);
	assert_int_equal(ehframe_parse(&eh, &bytes, EM_X86_64, false), 0);
	ehframe_fini(&eh);
}

/* ---- arm64 ---- */

static void arm64_frame_at_the_bottom(void **state)
{
	/* GCC: stp x29, x30, [sp, #-32]!; mov x29, sp; CFA x29 + 32 (alloca); ldp; ret */
	struct rows rows = run_arm64(P(0x41, 0x0e, 32, 0x9d, 4, 0x9e, 3, 0x42, 0x0d, 29, 0x44, 0x0c, 31, 0, 0xdd, 0xde));

	(void)state;
	assert_int_equal(rows.count, 4);
	expect(&rows, 0, 0, GMT_UNWIND_SP, 0, GMT_UNWIND_FP_SAME);
	expect(&rows, 1, 4, GMT_UNWIND_SP, 4, 4);
	expect(&rows, 2, 12, GMT_UNWIND_FP, 4, 4);
	expect(&rows, 3, 28, GMT_UNWIND_SP, 0, GMT_UNWIND_FP_SAME);
}

static void arm64_return_alone(void **state)
{
	/* Without frame pointers: stp x30, x19, [sp, #-48]! */
	struct rows rows = run_arm64(P(0x41, 0x0e, 48, 0x9e, 6, 0x93, 5));

	(void)state;
	expect(&rows, 1, 4, GMT_UNWIND_SP | GMT_UNWIND_RA_ALONE, 6, 6);
}

static void arm64_slots(void **state)
{
	/* x29 at CFA-1000, the farthest from the CFA; then one word more, from the CFA's register */
	struct rows rows = run_arm64(P(0x0e, 0xf0, 7, 0x9d, 0x7d, 0x9e, 0x7c, 0x41, 0x9d, 0x7e, 0x9e, 0x7d));

	(void)state;
	expect(&rows, 0, 0, GMT_UNWIND_SP, 126, GMT_UNWIND_SLOT_MAX);
	expect(&rows, 1, 4, GMT_UNWIND_SP, 126, GMT_UNWIND_SLOT_UP);
	rows = run_arm64(P(0x0e, 0xd8, 15, 0x9d, 0x7e, 0x9e, 0x7d));     /* 125 words above sp, the most */
	expect(&rows, 0, 0, GMT_UNWIND_SP, 251, GMT_UNWIND_SLOT_UP | GMT_UNWIND_SLOT_MAX);
	rows = run_arm64(P(0x0e, 0xe0, 15, 0x9d, 0x7e, 0x9e, 0x7d));
	expect(&rows, 0, 0, GMT_UNWIND_UNSUPPORTED, 0, 0);
}

static void arm64_record_at_the_cfa(void **state)
{
	/* libffi's ffi_call_SYSV: stp x29, x30, [x1]; the CFA is x1, then x29, which points there, too; then sp */
	struct rows rows = run_arm64(P(0x46, 0x0d, 1, 0x9d, 0, 0x11, 30, 0x7f, 0x43, 0x0d, 29, 0x53, 0x0d, 31));

	(void)state;
	assert_int_equal(rows.count, 4);
	expect(&rows, 1, 24, GMT_UNWIND_UNSUPPORTED, 0, 0);
	expect(&rows, 2, 36, GMT_UNWIND_FP, 2, 2);
	expect(&rows, 3, 112, GMT_UNWIND_UNSUPPORTED, 0, 0);
	/* elsewhere above the CFA */
	rows = run_arm64(P(0x0c, 29, 0, 0x11, 29, 0x7f, 0x11, 30, 0x7e));
	expect(&rows, 0, 0, GMT_UNWIND_UNSUPPORTED, 0, 0);
}

static void arm64_signed_returns(void **state)
{
	struct cfi cfi = { 0 };
	/* paciasp; stp x29, x30, [sp, #-16]!; remember; ldp; autiasp; ret; restore */
	struct rows rows = run_arm64(P(0x41, 0x2d, 0x41, 0x0e, 16, 0x9d, 2, 0x9e, 1, 0x41, 0x0a, 0xde, 0xdd, 0x0e, 0, 0x41,
				       0x2d, 0x41, 0x0b, 0x41, 0x2c));

	(void)state;
	assert_int_equal(rows.count, 7);
	expect(&rows, 1, 4, GMT_UNWIND_SP, 0, GMT_UNWIND_FP_SAME);
	expect(&rows, 2, 8, GMT_UNWIND_SP, 2, 2);
	expect(&rows, 3, 12, GMT_UNWIND_SP, 0, GMT_UNWIND_FP_SAME);
	expect(&rows, 4, 16, GMT_UNWIND_SP, 0, GMT_UNWIND_FP_SAME);
	expect(&rows, 5, 20, GMT_UNWIND_SP, 2, 2);
	expect(&rows, 6, 24, GMT_UNWIND_SP, 2, 2);
	cfi_cie_arm64(&cfi, "zRB");              /* signed with the other key */
	cfi_fde(&cfi, CODE, 0x100, P(0x41, 0x0e, 16, 0x9e, 2));
	rows = rows_of(&cfi, EM_AARCH64);
	expect(&rows, 1, 4, GMT_UNWIND_SP | GMT_UNWIND_RA_ALONE, 2, 2);
	rows = run(P(0x41, 0x2d));               /* no such instruction on x86-64 */
	expect(&rows, 1, 1, GMT_UNWIND_UNSUPPORTED, 0, 0);
}

static void arm64_root_and_signal(void **state)
{
	struct cfi cfi = { 0 };
	struct rows rows = run_arm64(P(0x07, 30));

	(void)state;
	expect(&rows, 0, 0, GMT_UNWIND_STOP, 0, 0);
	cfi_cie_arm64(&cfi, "zRS");
	cfi_fde(&cfi, CODE, 8, P(0x0d, 29, 0x9d, 0x7f, 0x9e, 0x7e));
	rows = rows_of(&cfi, EM_AARCH64);
	expect(&rows, 0, 0, GMT_UNWIND_SIGNAL, 0, 0);
}

static void arm64_what_no_row_can_say(void **state)
{
	static const struct {
		unsigned char program[12];
		size_t size;
		const char *why;
	} cases[] = {
		{ { 0x0e, 12 }, 2, "a CFA that is not a whole word" },
		{ { 0x0c, 0, 0 }, 3, "CFA from x0: setcontext()" },
		{ { 0x0f, 3, 0x8d, 0x78, 0x06 }, 5, "x86-64's expression" },
		{ { 0x0e, 0x80, 0x80, 0x10, 0x9d, 2, 0x9e, 1 }, 8, "32768 words" },
		{ { 0x9e, 1, 0x9d, 3 }, 4, "registers that are apart" },
		{ { 0x9e, 2, 0x9d, 1 }, 4, "registers in the other order" },
		{ { 0x9d, 2 }, 2, "x29 alone" },
		{ { 0x09, 30, 15 }, 3, "the return address in x15" },
		{ { 0x9e, 1, 0x07, 29 }, 4, "x29 lost" },
		{ { 0x2f, 30, 0x7f }, 3, "a return address above the CFA: _dl_runtime_resolve()" },
		{ { 0x11, 29, 1, 0x9e, 0 }, 5, "a return address at the CFA" },
		{ { 0x0e, 0xe0, 31, 0x9d, 0xfe, 1, 0x9e, 0xfd, 1 }, 9, "far from both ends of the frame" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rows rows = run_arm64(cases[i].program, cases[i].size);

		if (rows.row[0].rule != GMT_UNWIND_UNSUPPORTED)
			fail_msg("%s: rule %d", cases[i].why, rows.row[0].rule);
		assert_int_equal(rows.row[0].cfa, 0);
		assert_int_equal(rows.row[0].fp, 0);
	}
}

static void header(void **state)
{
	unsigned char data[] = { 1, 0x1b, 3, 0x3b, 0xf0, 0xff, 0xff, 0xff, 7, 0, 0, 0 };
	struct eh_bytes bytes = { data, sizeof(data), CFI_VADDR };
	struct eh_header hdr;

	(void)state;
	assert_true(eh_header_read(&bytes, &hdr));
	assert_int_equal(hdr.eh_frame, CFI_VADDR + 4 - 16);
	assert_int_equal(hdr.count, 7);
	assert_int_equal(hdr.table, CFI_VADDR + 12);
	for (bytes.size = 0; bytes.size < 8; bytes.size++)
		assert_false(eh_header_read(&bytes, &hdr));
	bytes.size = sizeof(data);
	data[0] = 2;
	assert_false(eh_header_read(&bytes, &hdr));
}

/* Cut at each byte, and with each byte replaced: whatever comes of it, in bounds and in order. The bytes
 * lie at the end of their memory, so that the sanitizers see a read behind them. */
static void damage_section(const struct cfi *cfi, uint16_t machine)
{
	static const unsigned char values[] = { 0x00, 0x01, 0x0f, 0x10, 0x40, 0x7f, 0x80, 0xff };

	for (size_t size = 0; size <= cfi->size; size++) {
		for (size_t i = 0; i < (size == cfi->size ? cfi->size * sizeof(values) : 1); i++) {
			unsigned char *copy = malloc(size ? size : 1);
			struct eh_bytes bytes = { copy, size, CFI_VADDR };
			struct ehframe eh;

			memcpy(copy, cfi->data, size);
			if (size == cfi->size)
				copy[i / sizeof(values)] = values[i % sizeof(values)];
			assert_int_equal(ehframe_parse(&eh, &bytes, machine, false), 0);
			for (size_t fde = 0; fde < eh.fde_count; fde++) {
				struct rows rows = { 0 };

				ehframe_rows(&eh, &eh.fdes[fde], take, &rows);
				assert_true(rows.count || !eh.fdes[fde].size);
			}
			ehframe_fini(&eh);
			free(copy);
		}
	}
}

static void damage(void **state)
{
	struct cfi cfi = { 0 }, arm64 = { 0 };

	(void)state;
	cfi_cie(&cfi, "zR", 0x1b);
	cfi_fde(&cfi, CODE, 0x100, P(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x02, 0x50, 0x0c, 7, 8, 0xc6));
	cfi_fde(&cfi, CODE + 0x100, 0x100, P(0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0));
	damage_section(&cfi, EM_X86_64);
	cfi_cie_arm64(&arm64, "zRB");
	cfi_fde(&arm64, CODE, 0x100, P(0x41, 0x2d, 0x41, 0x0e, 32, 0x9d, 4, 0x9e, 3, 0x42, 0x0d, 29, 0x44, 0x0c, 31, 0, 0xdd));
	cfi_fde(&arm64, CODE + 0x100, 0x100, P(0x0e, 0xd8, 15, 0x9e, 0xfe, 1, 0x10, 29, 2, 0x8f, 0));
	damage_section(&arm64, EM_AARCH64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frame_pointer_function),
		cmocka_unit_test(states_are_remembered),
		cmocka_unit_test(every_advance),
		cmocka_unit_test(expressions),
		cmocka_unit_test(places_of_the_frame_pointer),
		cmocka_unit_test(what_no_row_can_say),
		cmocka_unit_test(root_and_signal),
		cmocka_unit_test(entries),
		cmocka_unit_test(remembered_states_are_bounded),
		cmocka_unit_test(programs_of_cies_are_bounded),
		cmocka_unit_test(other_machines),
		cmocka_unit_test(arm64_frame_at_the_bottom),
		cmocka_unit_test(arm64_return_alone),
		cmocka_unit_test(arm64_slots),
		cmocka_unit_test(arm64_record_at_the_cfa), cmocka_unit_test(arm64_signed_returns),
		cmocka_unit_test(arm64_root_and_signal),
		cmocka_unit_test(arm64_what_no_row_can_say),
		cmocka_unit_test(header),
		cmocka_unit_test(damage),
	};

	return cmocka_run_group_tests_name("ehframe", tests, NULL, NULL);
}
