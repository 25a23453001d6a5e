/* SPDX-License-Identifier: BSD-2-Clause */
/* What a database (sqlite.c) holds, as rows of its tables. */
#ifndef GPUMEMTRACE_SINK_SQLITE_SQLITE_ROWS_H
#define GPUMEMTRACE_SINK_SQLITE_SQLITE_ROWS_H

#include "base/hash.h"
#include "core/terms/lives_told.h"
#include "sink/sqlite/db.h"

struct sink_end;

struct sqlite_stream {
	struct life_taker taker;
	struct db *db;
	struct hash stacks;      /* char: the ids that rows have */
	uint64_t change;         /* the newest that a row has */
};

/* What comes with the records. */
extern const struct life_taker sqlite_takers;

/* What is known at the end: the session, GPUs, stacks and their names. */
void sqlite_rows_end(struct sqlite_stream *s, const struct sink_end *end);

static inline struct db_value sqlite_gpu(int gpu)
{
	return gpu == LIFE_ON_HOST ? db_none() : db_number((uint64_t)(gpu == LIFE_NO_GPU ? 0 : gpu + 1));
}

#endif
