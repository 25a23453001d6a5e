/* SPDX-License-Identifier: BSD-2-Clause */
/* What the processes that read foreign files can do: one function for each kind of request. */
#ifndef GPUMEMTRACE_PARSING_H
#define GPUMEMTRACE_PARSING_H

#include "parse/kinds.h"

extern const struct parse_table parsing_table;

#endif
