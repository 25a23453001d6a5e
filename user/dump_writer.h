/* SPDX-License-Identifier: BSD-2-Clause */
/* A thread that writes recordings from memory, one after the other. */
#ifndef GPUMEMTRACE_DUMP_WRITER_H
#define GPUMEMTRACE_DUMP_WRITER_H

#include <stdbool.h>
#include <stddef.h>

struct dump_writer;

/* A file that may be written again. Whoever else may write to its folder may put anything at its path meanwhile: what
 * it has is read through the descriptor that it was written by. */
struct dump_file {
	char *path;
	int fd;                  /* the thread's; -1: it has not been written */
	unsigned int refs;       /* the main thread's */
};

struct dump_job {
	struct dump_job *next;
	struct dump_file *file;
	void *records;           /* whole, back to back */
	size_t size;
	size_t window_at;        /* the window that the file has is to go there, if it was written; 0: none is */
	bool is_first;           /* of this file */
	int error;               /* of out_file_why(), when it is done */
};

/* Takes `path` over, to be freed. The caller's, and each job's, to be put. */
struct dump_file *dump_file_new(char *path);
struct dump_file *dump_file_get(struct dump_file *file);
void dump_file_put(struct dump_file *file);

struct dump_writer *dump_writer_new(void);
/* The job and what it points to are the writer's until it is done. */
void dump_writer_put(struct dump_writer *writer, struct dump_job *job);
/* One that is done, the caller's again; NULL: none. */
struct dump_job *dump_writer_done(struct dump_writer *writer);
/* Waits until all are done. */
void dump_writer_finish(struct dump_writer *writer);
void dump_writer_free(struct dump_writer *writer);   /* NULL is fine */
void dump_job_free(struct dump_job *job);

#endif
