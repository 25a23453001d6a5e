/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What files of doc/ say about the options, from the rows of cli_rows.h. Not part of the program:
 * tests/unit/top/test_cli_doc.c compares these texts with what stands between two marks in the files, and `make man`
 * writes them there.
 */
#ifndef GPUMEMTRACE_CLI_DOC_H
#define GPUMEMTRACE_CLI_DOC_H

struct out;

/* roff: a section after the other, an item for each option. */
void cli_doc_manual(struct out *out);
/* bash: functions that know the commands and the values of options. */
void cli_doc_completion(struct out *out);

#endif
