/* SPDX-License-Identifier: BSD-2-Clause */
/* Workers that read files for a test (user/parse/parser.h). */
#ifndef GPUMEMTRACE_TESTS_PARSE_CHILD_H
#define GPUMEMTRACE_TESTS_PARSE_CHILD_H

#include <stdlib.h>
#include <unistd.h>

#include "parse/channel.h"
#include "parse/client.h"
#include "parse/parser.h"

struct parse_child {
	struct parser *parser;
	struct parse_client *client;
};

/* A worker that never answers. */
static inline int parse_child_sleep(void **state, struct parse_task *task, struct parse_answer *answer)
{
	char byte;

	(void)state;
	(void)task;
	(void)answer;
	while (read(CHANNEL_FD, &byte, 1) != 0) /* nobody writes */
		;
	return 0;
}

/* `table` must stay. */
static inline struct parse_child parse_child_start(const struct parse_table *table)
{
	struct parse_child child = { 0 };

	if (parser_start(&child.parser, table))
		abort();
	child.client = parse_client_new(child.parser);
	return child;
}

static inline void parse_child_end(struct parse_child *child)
{
	parse_client_free(child->client);
	parser_free(child->parser);
}

#endif
