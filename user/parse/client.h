/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks workers about foreign files, and sees to it that neither a file nor an owner of files takes too much time. */
#ifndef GPUMEMTRACE_PARSE_CLIENT_H
#define GPUMEMTRACE_PARSE_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parse/kinds.h"

struct parser;
struct parse_client;

/* For one thread. `parser` must stay. */
struct parse_client *parse_client_new(struct parser *parser);
void parse_client_free(struct parse_client *client);

/* Ends the client's workers, and gives back their memory. The next question starts a new one. */
void parse_client_rest(struct parse_client *client);

/* What is asked from now on is asked for a process of this user, who is charged for it. Else the owner of each file is,
 * and a user's processes could use up what the files of root may cost, which all jobs need. */
void parse_client_charge(struct parse_client *client, uint32_t user);

#define PARSE_WAIT 4             /* a busy machine needs longer for the same work */

struct parse_question {
	enum parse_kind kind;
	uint32_t owner;          /* whoever can write the bytes: the file's uid */
	const void *data;        /* at most PARSE_REQUEST_MAX bytes */
	size_t size;
	int fds[PARSE_FDS];      /* stay the caller's. 0: none, for no question is about standard input */
	uint64_t budget_ns;      /* the worker's CPU time, at most. The wait is PARSE_WAIT times as long, at most */
	size_t most;             /* bytes of the answer, at most */
	bool about_state;        /* about what the owner's worker keeps: asks no new worker, see -ESTALE */
};

/*
 * Asks, and waits for the answer. The answer's data is to be freed also after an error. What it says is foreign: the
 * caller checks all of it. Returns the status that the worker gives, or
 * -ETIMEDOUT, -ENOMEM: the file needs more time or memory than it may have; -ENOBUFS: the machine, or this process,
 * lacks memory, whatever the file is (the owner is not charged, but no file of the owner is read for a second or more);
 * -EREMOTEIO: the file's storage failed (not -EIO, as an open() of the caller may give that); -EFAULT: the worker
 * ended; -EOWNERDEAD: parser_kill_workers() ended it; -ENOTRECOVERABLE: somebody or the kernel killed it; -EBADMSG: it
 * answered nonsense. In these cases the worker is gone. -EDQUOT: the user's files have cost too much, and will be read
 * again within a minute; -ESTALE: the worker that kept something is not there any more; -ECANCELED; -ECHILD: the keeper
 * has ended, and no file can be read any more.
 */
int parse_ask(struct parse_client *client, const struct parse_question *question, struct parse_answer *answer);

/* For a caller that finds an answer to be nonsense: ends the owner's worker. Returns -EBADMSG. */
int parse_refuse(struct parse_client *client, uint32_t owner);

/* For a caller whose file has had `ns` for all its answers, which is its bound. Returns -ETIMEDOUT. */
int parse_time_is_up(struct parse_client *client, uint64_t ns);

/* Whether an error of parse_ask() means that the file was given up, and the reason as a part of a sentence that goes on
 * behind "the file ". The text is the client's, until its next question. */
bool parse_gave_up(int err);
const char *parse_why(const struct parse_client *client, int err);
/* Whether the reason passes: the file is asked about again later, and others of its owner are, too. */
bool parse_may_pass(int err);
/* Whether it was given up because gpumemtrace itself ended the reader: at a bound of time, or to save memory. */
bool parse_was_ended(int err);

/* What a worker has, as the worker itself says. 0, or as parse_ask(). */
int parse_status(struct parse_client *client, struct parse_status *status);

#endif
