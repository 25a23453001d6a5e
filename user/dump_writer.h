/* SPDX-License-Identifier: BSD-2-Clause */
/* A thread that writes dumps from memory, one after the other. */
#ifndef GPUMEMTRACE_DUMP_WRITER_H
#define GPUMEMTRACE_DUMP_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dump_writer;

/* A file that may be written again. Other users who may write to its folder can put anything at its path meanwhile.
 * So the contents are read through the descriptor that wrote them. */
struct dump_file {
	char *path;
	int fd;                  /* the thread's; -1: not yet written */
	unsigned int refs;       /* the main thread's */
};

struct dump_job {
	struct dump_job *next;
	struct dump_file *file;
	void *records;           /* whole, back to back */
	size_t size;
	size_t window_at;        /* where the window of the file's last version goes into the records; 0: nowhere */
	bool is_first;           /* the first version of the file */
	int error;               /* when the job is done: 0, or an error for out_file_why() */
};

/* Takes over `path`, which is on the heap. The caller and each job hold a reference, and release it. */
struct dump_file *dump_file_new(char *path);
struct dump_file *dump_file_get(struct dump_file *file);
void dump_file_put(struct dump_file *file);

struct dump_writer *dump_writer_new(void);
/* The job and all that it points to belong to the writer until the job is done. */
void dump_writer_put(struct dump_writer *writer, struct dump_job *job);
/* Returns a job that is done and belongs to the caller again; NULL: no job is done. */
struct dump_job *dump_writer_done(struct dump_writer *writer);
/* Waits until all jobs are done. False: the thread was busy for all of `wait_ns`. */
bool dump_writer_finish(struct dump_writer *writer, uint64_t wait_ns);
/* Frees everything, also jobs that are done. False: the thread is busy, and everything stays. NULL is fine. */
bool dump_writer_free(struct dump_writer *writer);
void dump_job_free(struct dump_job *job);

#endif
