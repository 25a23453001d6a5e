// SPDX-License-Identifier: BSD-2-Clause
#include "sink/sqlite/db.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "base/human.h"
#include "base/xalloc.h"
#include "sink/sqlite/db_file.h"
#include "sink/sqlite/schema.h"

/* No journal and no waiting for the disk: the file gets its name when it is whole. What is only needed while rows are
 * added stays in memory, and the cache has a bound. */
#define CACHE_KIB "16384"
#define SETTINGS                                                                                    \
	"PRAGMA page_size=8192; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;" \
	" PRAGMA temp_store=MEMORY; PRAGMA cache_size=-" CACHE_KIB "; PRAGMA auto_vacuum=NONE;"     \
	" PRAGMA application_id=0x474d5400; PRAGMA user_version=1;"

struct db {
	struct db_file file;
	sqlite3 *sqlite;
	sqlite3_stmt *inserts[DB_TABLE_COUNT];
	int error;
	char *clean;             /* a text of which broken UTF-8 was replaced */
	size_t clean_room;
};

int db_error(const struct db *db)
{
	return db->error;
}

static int error_of(const struct db *db, int code)
{
	if (db->file.error)
		return db->file.error;
	switch (code & 0xff) {
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_TOOBIG:
		return -EFBIG;
	default:
		return -EIO;
	}
}

/* SQLITE_OK, _DONE and _ROW are no errors. */
static void note_code(struct db *db, int code)
{
	if (code && code != SQLITE_DONE && code != SQLITE_ROW && !db->error)
		db->error = error_of(db, code);
}

static void run_sql(struct db *db, const char *sql)
{
	if (!db->error)
		note_code(db, sqlite3_exec(db->sqlite, sql, NULL, NULL, NULL));
}

/* ---- rows ---- */

static const char *const names[DB_TABLE_COUNT] = {
#define X(name, table) [DB_##name] = table,
	DB_TABLES(X)
#undef X
};

static void prepare_insert(struct db *db, enum db_table table, size_t count)
{
	char sql[128];
	int size = snprintf(sql, sizeof(sql), "REPLACE INTO %s VALUES(?", names[table]);

	for (size_t i = 1; i < count && size < (int)sizeof(sql) - 4; i++)
		size += snprintf(sql + size, sizeof(sql) - (size_t)size, ",?");
	snprintf(sql + size, sizeof(sql) - (size_t)size, ")");
	note_code(db, sqlite3_prepare_v3(db->sqlite, sql, -1, SQLITE_PREPARE_PERSISTENT, &db->inserts[table], NULL));
}

/* Bytes of the character at the start that a database may show; 0: the first byte is none of one. Another process may
 * have chosen the text, and a terminal obeys control characters. */
static size_t shown_bytes(const char *text, size_t size)
{
	uint32_t code;

	return human_is_control(text, size, &code) || !text[0] ? 0 : human_utf8(text, size);
}

static bool is_clean(const char *text, size_t size)
{
	for (size_t i = 0, n; i < size; i += n) {
		n = shown_bytes(text + i, size - i);
		if (!n)
			return false;
	}
	return true;
}

static const char *text_in_utf8(struct db *db, const char *text, size_t size)
{
	if (is_clean(text, size))
		return text;
	if (db->clean_room < size) {
		free(db->clean);
		db->clean_room = size;
		db->clean = xmalloc(size);
	}
	for (size_t i = 0, n; i < size; i += n) {
		n = shown_bytes(text + i, size - i);
		if (n) {
			memcpy(db->clean + i, text + i, n);
		} else {
			db->clean[i] = '?';
			n = 1;
		}
	}
	return db->clean;
}

static void bind_value(struct db *db, sqlite3_stmt *insert, int place, const struct db_value *value)
{
	size_t size = value->text_size;
	const char *text;

	if (!value->is_set) {
		note_code(db, sqlite3_bind_null(insert, place));
	} else if (value->text) {
		size = size ? size : strlen(value->text);
		text = text_in_utf8(db, value->text, size);
		note_code(db, sqlite3_bind_text(insert, place, text, (int)size,
						text == value->text ? SQLITE_STATIC : SQLITE_TRANSIENT));
	} else {
		note_code(db, sqlite3_bind_int64(insert, place, value->number));
	}
}

void db_add(struct db *db, enum db_table table, const struct db_value *values, size_t count)
{
	sqlite3_stmt *insert;

	if (!db->error && !db->inserts[table])
		prepare_insert(db, table, count);
	if (db->error)
		return;
	insert = db->inserts[table];
	for (size_t i = 0; i < count; i++)
		bind_value(db, insert, (int)i + 1, &values[i]);
	if (!db->error)
		note_code(db, sqlite3_step(insert));
	sqlite3_reset(insert);
}

/* ---- beginning and end ---- */

struct db *db_begin(int fd)
{
	struct db *db = xcalloc(1, sizeof(*db));
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;

	note_code(db, db_file_offer(&db->file, fd));
	if (!db->error)
		note_code(db, sqlite3_open_v2(db->file.vfs.zName, &db->sqlite, flags, db->file.vfs.zName));
	run_sql(db, SETTINGS);
	run_sql(db, "BEGIN EXCLUSIVE");
	run_sql(db, sqlite_schema);
	return db;
}

int db_end(struct db *db, bool keeps)
{
	int err;

	if (keeps)
		run_sql(db, "COMMIT");
	for (size_t i = 0; i < DB_TABLE_COUNT; i++)
		sqlite3_finalize(db->inserts[i]);
	/* What was not committed is dropped, and so is the file. */
	sqlite3_close(db->sqlite);
	db_file_forget(&db->file);
	err = db->error;
	free(db->clean);
	free(db);
	return err;
}
