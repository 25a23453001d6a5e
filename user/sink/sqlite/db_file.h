/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A database in a file that is open already: SQLite opens no path, so whoever may write to the directory cannot put
 * another file in its place. The file is new and nobody else's, so nothing is locked, and there is no journal.
 */
#ifndef GPUMEMTRACE_SINK_SQLITE_DB_FILE_H
#define GPUMEMTRACE_SINK_SQLITE_DB_FILE_H

#include <sqlite3.h>

struct db_file {
	sqlite3_vfs vfs;         /* what SQLite calls a file system: this file is all that it has */
	int fd;                  /* the caller's */
	int error;               /* the first error of the file, -errno */
};

/* SQLite finds the file under file->vfs.zName, until db_file_forget(). 0 or an error of SQLite's. */
int db_file_offer(struct db_file *file, int fd);
void db_file_forget(struct db_file *file);

#endif
