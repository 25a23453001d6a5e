/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads foreign files in processes that have no privileges. Whoever owns such a file may have written it to overpower
 * its reader, or to use up the reader's memory and time.
 *
 * parser_start() forks the keeper while the process is young. The keeper forks workers on request. A worker answers
 * requests of one client about files of one owner: a worker that a file has taken over can falsify what is said of its
 * owner's files, and nothing else. A worker has no user, no capability, no file but those it is given, and few system
 * calls (worker.c).
 *
 * A request fails when its time is over, and when its worker ends. The worker is then replaced. An owner whose files
 * cost too much has to wait, so that the files of other owners are read.
 */
#ifndef GPUMEMTRACE_PARSE_PARSER_H
#define GPUMEMTRACE_PARSE_PARSER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "parse/kinds.h"

struct parser;

/* Call while the process has one thread and holds no secrets. `table` must stay. 0 or -errno. */
int parser_start(struct parser **parser, const struct parse_table *table);
void parser_free(struct parser *parser);         /* ends all workers; clients first */

/* Ends all waiting: requests of all clients fail with -ECANCELED from now on. For any thread. */
void parser_cancel(struct parser *parser);

/* ---- for clients (client.h), in any thread ---- */

/* Starts a worker, with which the caller talks through the socket. 0; -ECHILD: the keeper has ended; else -errno. */
int parser_start_worker(struct parser *parser, uint32_t *number, int *socket);
void parser_kill_worker(struct parser *parser, uint32_t number);

/* The signal that ended a worker whose socket is closed, if gpumemtrace did not end the worker. 0: none, or not
 * known. */
int parser_ended_by(struct parser *parser, uint32_t number);

/* Ends all workers, idle ones and those at work. Their files count as files that ended a worker. For any thread. */
void parser_kill_workers(struct parser *parser);
/* How often parser_kill_workers() was called. */
unsigned int parser_kills(const struct parser *parser);

/* The keeper's pid; 0 without a parser. */
pid_t parser_keeper(const struct parser *parser);

/* Whether the keeper has ended, as when somebody kills it: no worker is left, and none starts. No other keeper follows:
 * its workers would have a copy of all that this process knows by then. For any thread. */
bool parser_has_ended(const struct parser *parser);

/* A descriptor that can be read from parser_cancel() on. */
int parser_cancelled(const struct parser *parser);

#endif
