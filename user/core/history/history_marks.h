/* SPDX-License-Identifier: BSD-2-Clause */
/* The newest beginnings and ends of ranges that programs have named (record_function), in a history. */
#ifndef GPUMEMTRACE_CORE_HISTORY_HISTORY_MARKS_H
#define GPUMEMTRACE_CORE_HISTORY_HISTORY_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"

struct gmt_fw_range;
struct gmt_history_mark;

#define HISTORY_MARKS 16384         /* marks that are kept */
#define HISTORY_MARK_NAMES 1024     /* different names; ranges with other names are left out and counted */

struct history_mark {
	uint64_t ts_ns;
	uint64_t event;          /* number of the next event */
	uint32_t process;        /* index in history.processes */
	uint16_t name;
	bool is_end;
};

struct history_marks {
	struct history_mark *list;  /* ring by number */
	uint64_t next;              /* number of the next mark, from 0 on */
	char **names;               /* a text never moves */
	uint32_t name_count;
	struct hash by_name;        /* uint32_t: its number; by the hash of the text */
	struct hash open;           /* uint32_t: number of its name; by object and process */
	uint64_t dropped;           /* ranges of which the beginning or the end was left out */
};

void history_marks_init(struct history_marks *m);
void history_marks_fini(struct history_marks *m);

/* A range of the process begins or ends, before event number `event`. */
void history_marks_see(struct history_marks *m, uint32_t process, uint64_t event, const struct gmt_fw_range *rec);
/* A mark from a dump. */
void history_marks_read(struct history_marks *m, uint32_t process, const struct gmt_history_mark *rec);

/* The number of the oldest mark that is kept; all are below m->next. */
static inline uint64_t history_marks_first(const struct history_marks *m)
{
	return m->next > HISTORY_MARKS ? m->next - HISTORY_MARKS : 0;
}

static inline const struct history_mark *history_marks_at(const struct history_marks *m, uint64_t number)
{
	return &m->list[number % HISTORY_MARKS];
}

#endif
