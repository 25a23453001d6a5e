/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a new SQLite database in one transaction, row by row, in bounded memory. The first error sticks: later rows
 * are dropped, and db_error() and db_end() return the error.
 */
#ifndef GPUMEMTRACE_SINK_SQLITE_DB_H
#define GPUMEMTRACE_SINK_SQLITE_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct db;

/* X(NAME, table): the tables of user/doc/sqlite-schema.sql that rows are added to. */
#define DB_TABLES(X)                                                              \
	X(SESSION, "session")                                                     \
	X(LOSS, "loss")                                                           \
	X(GPU, "gpu")                                                             \
	X(PROCESS, "process")                                                     \
	X(FUNCTION, "function")                                                   \
	X(CALL, "call")                                                           \
	X(ALLOCATION, "allocation")                                               \
	X(BLOCK, "block")                                                         \
	X(FRAME, "frame")                                                         \
	X(STACK, "stack")                                                         \
	X(TRACE_FRAME, "trace_frame")                                             \
	X(FAILED_REQUEST, "failed_request")                                       \
	X(LEVEL, "level")                                                         \
	X(MOMENT, "moment")
enum db_table {
#define X(name, table) DB_##name,
	DB_TABLES(X)
#undef X
	DB_TABLE_COUNT
};

/* A value of a row: of all, the columns in the order of the schema. */
struct db_value {
	bool is_set;             /* else NULL */
	const char *text;        /* NULL: the number; any bytes, of which broken UTF-8 becomes '?' */
	size_t text_size;        /* of a text without a NUL at its end; 0: it has one */
	int64_t number;
};

static inline struct db_value db_none(void)
{
	return (struct db_value){ 0 };
}

static inline struct db_value db_number(uint64_t number)
{
	return (struct db_value){ .is_set = true, .number = (int64_t)number };
}

/* 0 means that nothing is known. */
static inline struct db_value db_known(uint64_t number)
{
	return (struct db_value){ .is_set = number != 0, .number = (int64_t)number };
}

/* "" and NULL mean that nothing is known. */
static inline struct db_value db_text(const char *text)
{
	return (struct db_value){ .is_set = text && *text, .text = text };
}

static inline struct db_value db_text_sized(const char *text, size_t size)
{
	return (struct db_value){ .is_set = size, .text = text, .text_size = size };
}

/* The file stays the caller's, and must be empty. Never NULL: an error sticks. */
struct db *db_begin(int fd);
int db_error(const struct db *db);     /* 0 or -errno */
/* A row. Where its table has a key, a row with the same key takes the place of the one before. */
void db_add(struct db *db, enum db_table table, const struct db_value *values, size_t count);
#define DB_ADD(db, table, ...)                                                                \
	db_add(db, table, (const struct db_value[]){ __VA_ARGS__ },                           \
	       sizeof((const struct db_value[]){ __VA_ARGS__ }) / sizeof(struct db_value))
/* keeps: false drops all, for the file will be removed. 0 or -errno. */
int db_end(struct db *db, bool keeps);

#endif
