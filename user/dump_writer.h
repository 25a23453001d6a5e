/* SPDX-License-Identifier: BSD-2-Clause */
/* A thread that writes recordings from memory, one after the other. */
#ifndef GPUMEMTRACE_DUMP_WRITER_H
#define GPUMEMTRACE_DUMP_WRITER_H

#include <stdbool.h>
#include <stddef.h>

struct dump_writer;

struct dump_job {
	struct dump_job *next;
	char *path;
	void *records;           /* whole, back to back */
	size_t size;
	size_t window_at;        /* the file's own window is to go there, if there is such a file; 0: none is */
	bool is_first;           /* of this path */
	int error;               /* -errno, when it is done */
};

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
