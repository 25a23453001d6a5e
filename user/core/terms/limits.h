/* SPDX-License-Identifier: BSD-2-Clause */
/* What a session goes without, by its records. */
#ifndef GPUMEMTRACE_CORE_TERMS_LIMITS_H
#define GPUMEMTRACE_CORE_TERMS_LIMITS_H

#include <stddef.h>

#include <gpumemtrace/wire.h>

#define LIMITS_MAX 64 /* a recording may have any number */

struct limits {
	size_t count;
	struct gmt_limit *list;      /* allocated; the last of LIMITS_MAX + 1 says how many are left out */
	size_t left_out;             /* records */
};

/* A later record about the same thing takes the place of the record before. */
void limits_add(struct limits *limits, const struct gmt_limit *record);
void limits_copy(struct limits *to, const struct limits *from); /* `to` was empty */
void limits_fini(struct limits *limits);

#endif
