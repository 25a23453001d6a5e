/* SPDX-License-Identifier: BSD-2-Clause */
/* The unwinding tables of all modules of this very process, in the form that a collector keeps them. */
#ifndef TESTS_SYMBOL_SELFMAPS_H
#define TESTS_SYMBOL_SELFMAPS_H

#include <gpumemtrace/unwind.h>

#define SELF_MAPPINGS 256

struct self_tables {
	union gmt_unwind_word *words;
	__u32 word_count;
	__u32 count;
	__u32 vdso;              /* 1: the vDSO has a table too */
	struct gmt_unwind_mapping mappings[SELF_MAPPINGS];
};

/* Again after more was mapped; modules get new tables. */
void self_tables_build(struct self_tables *tables);
void self_tables_fini(struct self_tables *tables);

#endif
