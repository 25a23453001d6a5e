/* SPDX-License-Identifier: BSD-2-Clause */
/* Workers that read files for a test (user/parse/parser.h). */
#ifndef GPUMEMTRACE_TESTS_PARSE_CHILD_H
#define GPUMEMTRACE_TESTS_PARSE_CHILD_H

#include <stdlib.h>

#include "parse/client.h"
#include "parse/parser.h"

struct parse_child {
	struct parser *parser;
	struct parse_client *client;
};

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
