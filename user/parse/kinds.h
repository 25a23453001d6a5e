/* SPDX-License-Identifier: BSD-2-Clause */
/* What workers can be asked, and the functions that answer (parser.h says what a worker is). */
#ifndef GPUMEMTRACE_PARSE_KINDS_H
#define GPUMEMTRACE_PARSE_KINDS_H

#include <stddef.h>
#include <stdint.h>

/* What a worker can be asked. */
enum parse_kind {
	PARSE_STATUS,            /* of the worker: parse_status() */
	PARSE_LIBRARY,           /* places for probes */
	PARSE_POINTS,            /* static probes */
	PARSE_FACTS,             /* headers, and what tells one unwinding table from another */
	PARSE_TABLE,             /* the unwinding table */
	PARSE_EVAL,              /* CPython's eval function */
	PARSE_SWITCHERS,         /* the first functions of greenlets */
	PARSE_OPEN,              /* a file for names, which stays open */
	PARSE_READ,              /* the symbols of a file that is open */
	PARSE_NAME,              /* of an address in a file that is open */
	PARSE_CLOSE,
	PARSE_PYTHON,            /* CPython's symbols and version */
	PARSE_THREADS,           /* glibc's thread-specific data */
	PARSE_KINDS
};

#define PARSE_FDS 2              /* descriptors of one request, at most */
#define PARSE_REQUEST_MAX 512    /* bytes of one request, at most */

struct parse_task {
	const void *data;        /* of the request */
	size_t size;
	int fds[PARSE_FDS];      /* -1: none. The worker closes what the function leaves here */
};

/* The first descriptor, which is the caller's from now on; -1: none. */
static inline int parse_take_fd(struct parse_task *task)
{
	int fd = task->fds[0];

	task->fds[0] = -1;
	return fd;
}

struct parse_answer {
	void *data;              /* to be freed */
	size_t size;
};

/* Answers one kind of request in a worker. `state` belongs to all functions of the worker, NULL at first. Returns a
 * status that is given to the asker. The function need not fear hostile files: it may use up the worker or crash. */
typedef int (*parse_serve)(void **state, struct parse_task *task, struct parse_answer *answer);

/* By enum parse_kind; NULL: -ENOSYS. */
struct parse_table {
	parse_serve serve[PARSE_KINDS];
};

#define PARSE_MEMORY (1ull << 30)        /* bytes of address space of a worker */

/* What the kernel and the user's privileges let the worker lose. */
struct parse_status {
	int32_t pid;
	uint32_t uid;
	uint64_t capabilities;
	uint8_t no_new_privileges, has_filter;
};

#endif
