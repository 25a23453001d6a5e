/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of probe points (gpumemtrace/api.h) as data. The index of gmt_probes is the api id; the index of
 * gmt_ops is the operation.
 */
#ifndef GPUMEMTRACE_CORE_TERMS_PROBES_H
#define GPUMEMTRACE_CORE_TERMS_PROBES_H

#include <stdbool.h>

#include <gpumemtrace/api.h>
#include <gpumemtrace/wire.h>

struct gmt_probe {
	const char *symbol;          /* NULL: no such id */
	enum gmt_op op;
	unsigned int flags;          /* enum gmt_api_flag */
	__u32 caps[GMT_CALL_VALS];
	unsigned int count;          /* values a call sends; fewer than the operation's fields where an
	                              * old entry point lacks the last ones */
};
extern const struct gmt_probe gmt_probes[GMT_API_MAX];

struct gmt_op_info {
	const char *name;
	enum gmt_purpose purpose;
	bool takes_stack;            /* people want to know where the operation was called */
	const char *fields;          /* "ptr,size" */
	unsigned int count;          /* of them */
};
extern const struct gmt_op_info gmt_ops[GMT_OP_COUNT];

/* The name of the function; NULL for 0 and for a function that only a newer version knows. */
const char *gmt_api_symbol(unsigned int api);

/* The purpose of memory that is obtained inside the call; OTHER outside all calls (api 0) or in an unknown call. */
enum gmt_purpose gmt_purpose_of_api(unsigned int api);

/* Which of the operation's fields has this name; -1: none. */
int gmt_op_field(enum gmt_op op, const char *name);

/* Whether the operation makes a context, which takes memory, and no argument says how much. */
static inline bool gmt_op_makes_context(enum gmt_op op)
{
	return op == GMT_OP_CTX_CREATE || op == GMT_OP_PRIMARY_RETAIN;
}

#endif
