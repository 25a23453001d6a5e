/* SPDX-License-Identifier: BSD-2-Clause */
/* Unwinding tables of foreign files, which a worker without privileges reads and makes (parse/parser.h). */
#ifndef GPUMEMTRACE_SYMBOL_UNWIND_TABLE_PARSE_H
#define GPUMEMTRACE_SYMBOL_UNWIND_TABLE_PARSE_H

#include "parse/client.h"
#include "symbol/elf/source.h"
#include "symbol/unwind/switchers.h"
#include "symbol/unwind/table_cache.h"
#include "symbol/unwind/unwind_table.h"

/* ---- the worker's side ---- */

int table_serve_facts(void **state, struct parse_task *task, struct parse_answer *answer);
int table_serve_table(void **state, struct parse_task *task, struct parse_answer *answer);
int table_serve_switchers(void **state, struct parse_task *task, struct parse_answer *answer);

/* ---- the asker's side: errors as parse_ask() and as unwind_table_build() ---- */

/* The file's headers, and the key of its table, whose parts are what the file says but the owner. */
int table_ask_facts(struct parse_client *client, const struct source_file *file, struct image *shape,
		    struct table_key *key);

/* The table, which keeps the promises that BPF relies on. Finish with unwind_table_fini(), also after an error. */
int table_ask_table(struct parse_client *client, const struct source_file *file, const struct table_key *key,
		    struct unwind_table *table);

/* As switchers_find(): how many, or an error. */
int table_ask_switchers(struct parse_client *client, const struct source_file *file,
			struct switchers_range ranges[SWITCHERS_MAX]);

#endif
