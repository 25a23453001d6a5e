// SPDX-License-Identifier: BSD-2-Clause
/* Tables out of sections made up here: which rows there are, the index, and where mappings lie. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "cfi.h"
#include "symbol/unwind/bare_code.h"
#include "symbol/unwind/table_cache.h"
#include "../../symbol/table_rows.h"

#define CODE 0x401000ULL
#define BASE 0x400000ULL
#define CODE_BYTES 0x30000ULL
#define P(...) (const unsigned char[]){ __VA_ARGS__ }, sizeof((const unsigned char[]){ __VA_ARGS__ })
#define SECTION_MOST (256ULL << 20) /* bytes of .eh_frame */
#define PUSH P(0x41, 0x0e, 16)   /* CFA = sp + 8, from + 1 sp + 16 */

static struct unwind_table build(const struct cfi *cfi)
{
	struct unwind_table table;
	struct cfi_image made;

	cfi_image(&made, cfi, CODE, CODE_BYTES);
	assert_int_equal(unwind_table_build(&made.image, &table), 0);
	assert_true(unwind_table_check(&table));
	assert_int_equal(table.base, BASE);
	assert_int_equal(table.pages, 4);
	free(made.file);
	return table;
}

static struct cfi begin(void)
{
	struct cfi cfi = { 0 };

	cfi_cie(&cfi, "zR", 0x1b);
	return cfi;
}

static void expect(const struct unwind_table *t, uint64_t vaddr, int rule, int cfa)
{
	const struct gmt_unwind_row *row = table_row_at(t, vaddr);

	assert_non_null(row);
	assert_int_equal(row->rule, rule);
	assert_int_equal(row->cfa, cfa);
}

static void rows_are_sorted_and_merged(void **state)
{
	struct cfi cfi = begin();
	struct unwind_table t;

	(void)state;
	cfi_fde(&cfi, CODE + 0x40, 0x20, PUSH);
	cfi_fde(&cfi, CODE, 0x20, PUSH);
	cfi_fde(&cfi, CODE + 0x20, 0x20, P(0x0e, 16));   /* goes on as the one before ends */
	t = build(&cfi);
	/* none; sp 1; sp 2; sp 1; sp 2; none */
	assert_int_equal(t.rows, 6);
	assert_int_equal(t.fdes, 3);
	expect(&t, BASE, GMT_UNWIND_NONE, 0);
	expect(&t, CODE - 1, GMT_UNWIND_NONE, 0);
	expect(&t, CODE, GMT_UNWIND_SP, 1);
	expect(&t, CODE + 1, GMT_UNWIND_SP, 2);
	expect(&t, CODE + 0x3f, GMT_UNWIND_SP, 2);
	expect(&t, CODE + 0x40, GMT_UNWIND_SP, 1);
	expect(&t, CODE + 0x5f, GMT_UNWIND_SP, 2);
	expect(&t, CODE + 0x60, GMT_UNWIND_NONE, 0);
	assert_null(table_row_at(&t, BASE - 1));
	assert_null(table_row_at(&t, BASE + 0x40000));
	unwind_table_fini(&t);
}

static void padding_costs_no_row(void **state)
{
	struct cfi cfi = begin();
	struct unwind_table t;

	(void)state;
	cfi_fde(&cfi, CODE, 0x11, PUSH);
	cfi_fde(&cfi, CODE + 0x20, 0x10, PUSH);
	cfi_fde(&cfi, CODE + 0x40, 0x10, PUSH);   /* 16 bytes that may be a function */
	cfi_fde(&cfi, CODE + 0x58, 0x10, PUSH);   /* not aligned: it may be anything */
	t = build(&cfi);
	expect(&t, CODE + 0x11, GMT_UNWIND_SP, 2);
	expect(&t, CODE + 0x20, GMT_UNWIND_SP, 1);
	expect(&t, CODE + 0x30, GMT_UNWIND_NONE, 0);
	expect(&t, CODE + 0x50, GMT_UNWIND_NONE, 0);
	expect(&t, CODE + 0x58, GMT_UNWIND_SP, 1);
	unwind_table_fini(&t);
}

static void overlaps_and_strays(void **state)
{
	struct cfi cfi = begin();
	struct unwind_table t;

	(void)state;
	cfi_fde(&cfi, CODE, 0x100, P(0x0e, 24));
	cfi_fde(&cfi, CODE + 0x10, 0x10, P(0x0e, 32));         /* inside the other */
	cfi_fde(&cfi, CODE + 0x200, 0x10, P(0x0e, 40));
	cfi_fde(&cfi, CODE + 0x200, 0x20, P(0x0e, 48));        /* begins at the same place, longer */
	cfi_fde(&cfi, CODE - 0x10, 0x10, P(0x0e, 56));         /* no code there */
	cfi_fde(&cfi, CODE + 0x300, 0, P(0x0e, 56));
	cfi_fde(&cfi, CODE + CODE_BYTES - 8, 0x100, P(0x0e, 64)); /* ends behind the code */
	t = build(&cfi);
	assert_int_equal(t.fdes, 4);
	expect(&t, CODE + 0xf, GMT_UNWIND_SP, 3);
	expect(&t, CODE + 0x10, GMT_UNWIND_SP, 4);
	expect(&t, CODE + 0x20, GMT_UNWIND_NONE, 0);
	expect(&t, CODE + 0x21f, GMT_UNWIND_SP, 6);
	expect(&t, CODE - 0x10, GMT_UNWIND_NONE, 0);
	expect(&t, CODE + CODE_BYTES - 1, GMT_UNWIND_SP, 8);
	expect(&t, CODE + CODE_BYTES, GMT_UNWIND_NONE, 0);
	unwind_table_fini(&t);
}

/* A page without a row of its own, rows at the very boundaries. */
static void index_of_pages(void **state)
{
	struct cfi cfi = begin();
	struct unwind_table t;

	(void)state;
	cfi_fde(&cfi, BASE + 0xfff0, 0x20020, P(0x50, 0x0e, 16));   /* row at + 0x10: a page's start */
	t = build(&cfi);
	assert_int_equal(t.rows, 4);
	assert_int_equal(t.words[0].page.first, 0);
	assert_int_equal(t.words[0].page.end, 2);
	assert_int_equal(t.words[1].page.first, 2);
	assert_int_equal(t.words[1].page.end, 3);
	assert_int_equal(t.words[2].page.first, 3);
	assert_int_equal(t.words[2].page.end, 3);
	expect(&t, BASE + 0xffff, GMT_UNWIND_SP, 1);
	expect(&t, BASE + 0x10000, GMT_UNWIND_SP, 2);
	expect(&t, BASE + 0x2ffff, GMT_UNWIND_SP, 2);
	expect(&t, BASE + 0x30010, GMT_UNWIND_NONE, 0);
	unwind_table_fini(&t);
}

static void eval_ranges(void **state)
{
	struct cfi cfi = begin();
	struct unwind_table t;

	(void)state;
	cfi_fde(&cfi, CODE, 0x100, PUSH);
	t = build(&cfi);
	unwind_table_mark_eval(&t, CODE + 0x10, CODE + 0x20);
	assert_true(unwind_table_check(&t));
	assert_int_equal(t.rows, 6);
	expect(&t, CODE + 0xf, GMT_UNWIND_SP, 2);
	expect(&t, CODE + 0x10, GMT_UNWIND_SP | GMT_UNWIND_EVAL, 2);
	expect(&t, CODE + 0x1f, GMT_UNWIND_SP | GMT_UNWIND_EVAL, 2);
	expect(&t, CODE + 0x20, GMT_UNWIND_SP, 2);
	unwind_table_mark_eval(&t, CODE, CODE + 0x100);   /* whole rows */
	assert_int_equal(t.rows, 6);
	expect(&t, CODE + 0xff, GMT_UNWIND_SP | GMT_UNWIND_EVAL, 2);
	expect(&t, CODE + 0x100, GMT_UNWIND_NONE, 0);
	unwind_table_mark_eval(&t, BASE - 1, CODE);       /* not in the module */
	unwind_table_mark_eval(&t, CODE, BASE + 0x40000);
	assert_int_equal(t.rows, 6);
	unwind_table_mark_runtime(&t);                    /* all rows */
	assert_true(unwind_table_check(&t));
	expect(&t, CODE + 0x1f, GMT_UNWIND_SP | GMT_UNWIND_EVAL | GMT_UNWIND_RUNTIME, 2);
	expect(&t, CODE + 0x100, GMT_UNWIND_NONE | GMT_UNWIND_RUNTIME, 0);
	t.words[t.pages].row.rule = GMT_UNWIND_SIGNAL;    /* ... but a signal's */
	unwind_table_mark_runtime(&t);
	assert_int_equal(t.words[t.pages].row.rule, GMT_UNWIND_SIGNAL);
	unwind_table_fini(&t);
}

static void without_eh_frame(void **state)
{
	struct unwind_table t;
	struct cfi_image made;
	struct cfi cfi = begin();

	(void)state;
	cfi_image(&made, &cfi, CODE, CODE_BYTES);
	made.image.section_count = 0;
	assert_int_equal(unwind_table_build(&made.image, &t), 0);
	assert_int_equal(t.rows, 1);
	assert_true(unwind_table_check(&t));
	expect(&t, CODE, GMT_UNWIND_NONE, 0);
	unwind_table_fini(&t);
	made.image.segments[0].executable = false;
	assert_int_equal(unwind_table_build(&made.image, &t), -ENOEXEC);
	made.image.segments[0].executable = true;
	made.image.machine = EM_RISCV;
	made.image.section_count = 1;
	assert_int_equal(unwind_table_build(&made.image, &t), -ENOTSUP);
	made.image.machine = EM_X86_64;
	made.section.sh_size = 1 << 20;   /* behind the end of the file */
	assert_int_equal(unwind_table_build(&made.image, &t), -ERANGE);
	made.section.sh_size = SECTION_MOST;
	assert_int_equal(unwind_table_build(&made.image, &t), -ERANGE);
	made.section.sh_size = SECTION_MOST + 1;
	assert_int_equal(unwind_table_build(&made.image, &t), -E2BIG);
	unwind_table_fini(&t);
	free(made.file);
}

/* ---- arm64's code without FDEs ---- */

#define PLT (CODE + 0x400)
#define SIGRETURN (CODE + 0x800)
#define ENTRY (CODE + 0xc00)

/* A module of arm64 with a PLT, with _start of Debian 11 and, as the vDSO, with a symbol. */
struct arm64_module {
	struct cfi_image made;
	Elf64_Shdr sections[4];
	char names[32];
};

static void arm64_module(struct arm64_module *m, const struct cfi *cfi, const char *symbol)
{
	static const uint32_t header[] = { 0xd503245f, 0xa9bf7bf0, 0xb0000010, 0xf947fe11, 0x913fe210, 0xd61f0220 };
	static const uint32_t entry[] = { 0xd280001d, 0xd280001e, 0xaa0003e5, 0xf94003e1, 0x910023e2, 0x910003e6,
					  0x90000000, 0x9114e000, 0xb0000883, 0x912b4063, 0xb0000884, 0x912d4084,
					  0x97fa5c20, 0x97fa5ebb, 0x14000036, 0xd503201f, 0xd65f03c0 };
	static const Elf64_Sym first = { 0 };
	Elf64_Sym sym = { .st_name = 1, .st_info = STT_FUNC, .st_shndx = 1, .st_value = SIGRETURN, .st_size = 8 };

	*m = (struct arm64_module){ .names = "\0.eh_frame\0.plt" };
	cfi_image(&m->made, cfi, CODE, 0x1000);
	m->made.image.machine = EM_AARCH64;
	memcpy(m->made.file + (PLT - CODE), header, sizeof(header));
	memcpy(m->made.file + (ENTRY - CODE), entry, sizeof(entry));
	m->made.image.entry = ENTRY;
	memcpy(m->made.file + 0x10, &first, sizeof(first));
	memcpy(m->made.file + 0x10 + sizeof(first), &sym, sizeof(sym));
	memcpy(m->made.file + 0x80 + 1, symbol, strlen(symbol));
	m->sections[0] = m->made.section;
	m->sections[1] = (Elf64_Shdr){ .sh_name = 11, .sh_type = SHT_PROGBITS, .sh_addr = PLT, .sh_size = 0x60 };
	m->sections[2] = (Elf64_Shdr){ .sh_type = SHT_DYNSYM, .sh_offset = 0x10, .sh_size = 2 * sizeof(sym), .sh_link = 3,
				       .sh_entsize = sizeof(sym) };
	m->sections[3] = (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_offset = 0x80, .sh_size = 0x40 };
	m->made.image.sections = m->sections;
	m->made.image.section_count = 4;
	m->made.image.section_names = m->names;
	m->made.image.section_names_size = sizeof(m->names);
}

static struct unwind_table build_arm64(const char *symbol)
{
	struct unwind_table table;
	struct arm64_module m;
	struct cfi cfi = { 0 };

	cfi_cie_arm64(&cfi, "zR");
	cfi_fde(&cfi, PLT + 0x40, 0x10, P(0x0e, 64));   /* in the middle of the PLT: it has the code */
	arm64_module(&m, &cfi, symbol);
	assert_int_equal(unwind_table_build(&m.made.image, &table), 0);
	assert_true(unwind_table_check(&table));
	free(m.made.file);
	return table;
}

static void arm64_plt(void **state)
{
	struct unwind_table t = build_arm64("other");

	(void)state;
	expect(&t, PLT - 1, GMT_UNWIND_NONE, 0);
	expect(&t, PLT, GMT_UNWIND_SP, 0);              /* bti c */
	expect(&t, PLT + 4, GMT_UNWIND_SP, 0);          /* stp x16, x30, [sp, #-16]! */
	expect(&t, PLT + 8, GMT_UNWIND_SP | GMT_UNWIND_RA_ALONE, 2);
	assert_int_equal(table_row_at(&t, PLT + 8)->fp, 1);
	expect(&t, PLT + 0x1f, GMT_UNWIND_SP | GMT_UNWIND_RA_ALONE, 2);
	expect(&t, PLT + 0x20, GMT_UNWIND_SP, 0);
	expect(&t, PLT + 0x40, GMT_UNWIND_SP, 8);
	expect(&t, PLT + 0x5f, GMT_UNWIND_SP, 0);
	expect(&t, PLT + 0x60, GMT_UNWIND_NONE, 0);
	expect(&t, SIGRETURN, GMT_UNWIND_NONE, 0);
	unwind_table_fini(&t);
}

static void arm64_return_from_a_signal(void **state)
{
	struct unwind_table t = build_arm64("__kernel_rt_sigreturn");

	(void)state;
	expect(&t, SIGRETURN - 5, GMT_UNWIND_NONE, 0);
	expect(&t, SIGRETURN - 4, GMT_UNWIND_SIGNAL, 0);        /* where the return address is looked for */
	expect(&t, SIGRETURN + 7, GMT_UNWIND_SIGNAL, 0);
	expect(&t, SIGRETURN + 8, GMT_UNWIND_NONE, 0);
	unwind_table_fini(&t);
}

/* Up to the call of abort: what follows has callers. */
static void arm64_entry(void **state)
{
	struct unwind_table t = build_arm64("other");

	(void)state;
	expect(&t, ENTRY - 1, GMT_UNWIND_NONE, 0);
	expect(&t, ENTRY, GMT_UNWIND_STOP, 0);
	expect(&t, ENTRY + 0x37, GMT_UNWIND_STOP, 0);
	expect(&t, ENTRY + 0x38, GMT_UNWIND_NONE, 0);
	unwind_table_fini(&t);
}

/* An entry that is no _start, or is at no code. */
static void arm64_other_entries(void **state)
{
	struct bare_code found[BARE_CODE_MAX];
	struct arm64_module m;
	struct cfi cfi = { 0 };

	(void)state;
	cfi_cie_arm64(&cfi, "zR");
	arm64_module(&m, &cfi, "other");
	assert_int_equal(bare_code_find(&m.made.image, found), 4);
	assert_int_equal(found[3].start, ENTRY);
	for (uint64_t entry = ENTRY + 8; entry < ENTRY + 0x44; entry += 4) { /* behind mov x30, #0 */
		m.made.image.entry = entry;
		assert_int_equal(bare_code_find(&m.made.image, found), 3);
	}
	m.made.image.entry = CODE + 0x1000 - 8;
	assert_int_equal(bare_code_find(&m.made.image, found), 3);
	m.made.image.entry = CFI_VADDR;
	assert_int_equal(bare_code_find(&m.made.image, found), 3);
	m.made.image.entry = ENTRY;
	memset(m.made.file + (ENTRY - CODE) + 0x34, 0, 4); /* without the call of abort */
	assert_int_equal(bare_code_find(&m.made.image, found), 3);
	free(m.made.file);
}

static void arm64_code_is_part_of_the_key(void **state)
{
	struct table_key key, other;
	struct arm64_module m;
	struct cfi cfi = { 0 };

	(void)state;
	cfi_cie_arm64(&cfi, "zR");
	arm64_module(&m, &cfi, "other");
	assert_int_equal(table_key_of(&m.made.image, 0, &key), 0);
	m.sections[1].sh_size += 0x10;
	assert_int_equal(table_key_of(&m.made.image, 0, &other), 0);
	assert_memory_not_equal(key.hash, other.hash, sizeof(key.hash));
	m.made.image.machine = EM_X86_64;
	assert_int_equal(table_key_of(&m.made.image, 0, &key), 0);
	m.sections[1].sh_size += 0x10;
	assert_int_equal(table_key_of(&m.made.image, 0, &other), 0);
	assert_memory_equal(&key, &other, sizeof(key));
	free(m.made.file);
}

/* Where the header leads, and how far the section goes without a section header. */
static void header_without_sections(void **state)
{
	struct cfi cfi = begin();
	struct unwind_section section;
	struct unwind_table t;
	struct cfi_image made;
	uint64_t hdr;

	(void)state;
	cfi_fde(&cfi, CODE, 0x20, PUSH);
	cfi_put(&cfi, 0, 4);
	hdr = cfi.size;
	cfi_bytes(&cfi, P(1, 0x1b, 3, 0x3b));
	cfi_put(&cfi, -(hdr + 4), 4);
	cfi_put(&cfi, 1, 4);
	cfi_image(&made, &cfi, CODE, CODE_BYTES);
	made.image.section_count = 0;
	made.image.eh_frame_hdr = CFI_VADDR + hdr;
	assert_true(unwind_find_section(&made.image, &section));
	assert_int_equal(section.vaddr, CFI_VADDR);
	assert_int_equal(section.size, cfi.size);
	assert_true(section.stop_at_zero);
	assert_int_equal(unwind_table_build(&made.image, &t), 0);
	assert_int_equal(t.fdes, 1);
	assert_false(t.is_damaged);
	unwind_table_fini(&t);
	made.image.segments[1].file_size = SECTION_MOST;
	assert_int_equal(unwind_section_to_read(&made.image, &section), 0);
	assert_int_equal(section.size, SECTION_MOST);
	made.image.segments[1].file_size = SECTION_MOST + 1; /* no more is read, and the zero is before */
	assert_int_equal(unwind_section_to_read(&made.image, &section), 0);
	assert_int_equal(section.size, SECTION_MOST);
	free(made.file);
}

/* File offset and vaddr differ, as in libcuda. */
static void mappings(void **state)
{
	struct gmt_unwind_mapping mapping = { 0 };
	struct image image = { .segment_count = 2 };

	(void)state;
	image.segments[0] = (struct image_segment){ .vaddr = 0, .offset = 0, .file_size = 0x5000, .size = 0x5000 };
	image.segments[1] = (struct image_segment){ .vaddr = 0x26100, .offset = 0x5100, .file_size = 0x3000, .size = 0x3000,
						    .executable = true };
	assert_true(unwind_table_map(&image, 0x7f0000005000, 0x7f0000009000, 0x5000, &mapping));
	/* vaddr 0x26100 lies at start + 0x100; pc 0 is vaddr 0x20000 */
	assert_int_equal(mapping.base, 0x7f0000005100 - 0x6100);
	assert_int_equal(mapping.start, 0x7f0000005000);
	assert_int_equal(mapping.end, 0x7f0000009000);
	assert_true(unwind_table_map(&image, 0x7f0000006000, 0x7f0000007000, 0x6000, &mapping));   /* its second page */
	assert_int_equal(mapping.base, 0x7f0000005100 - 0x6100);
	assert_false(unwind_table_map(&image, 0x7f0000000000, 0x7f0000005000, 0, &mapping));
	assert_false(unwind_table_map(&image, 0x7f0000009000, 0x7f000000a000, 0x9000, &mapping));
	assert_false(unwind_table_map(&image, 0x9000, 0x9000, 0x5000, &mapping));
	assert_false(unwind_table_map(&image, 0x9000, 0xa000, UINT64_MAX - 0xff, &mapping));
}

static void damaged_blobs_are_seen(void **state)
{
	struct cfi cfi = begin();
	struct unwind_table t;

	(void)state;
	cfi_fde(&cfi, CODE, 0x100, PUSH);
	cfi_fde(&cfi, CODE + 0x20000, 0x100, PUSH);
	t = build(&cfi);
	for (uint32_t i = 0; i < t.pages + t.rows; i++) {
		union gmt_unwind_word old = t.words[i];

		t.words[i].page.first = 0x7fffffff;   /* also a row's pc */
		assert_false(unwind_table_check(&t) && (i != t.pages + t.rows - 1 || t.words[i].row.pc < 0x40000));
		t.words[i] = old;
		if (i < t.pages) {
			t.words[i].page.end++;
			assert_false(unwind_table_check(&t));
			t.words[i] = old;
		}
	}
	assert_true(unwind_table_check(&t));
	t.rows--;
	assert_false(unwind_table_check(&t));
	t.rows++;
	unwind_table_fini(&t);
	assert_false(unwind_table_check(&t));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_sorted_and_merged),
		cmocka_unit_test(padding_costs_no_row),
		cmocka_unit_test(overlaps_and_strays),
		cmocka_unit_test(index_of_pages),
		cmocka_unit_test(eval_ranges),
		cmocka_unit_test(without_eh_frame),
		cmocka_unit_test(arm64_plt),
		cmocka_unit_test(arm64_return_from_a_signal),
		cmocka_unit_test(arm64_entry),
		cmocka_unit_test(arm64_other_entries),
		cmocka_unit_test(arm64_code_is_part_of_the_key),
		cmocka_unit_test(header_without_sections),
		cmocka_unit_test(mappings),
		cmocka_unit_test(damaged_blobs_are_seen),
	};

	return cmocka_run_group_tests_name("unwind_table", tests, NULL, NULL);
}
