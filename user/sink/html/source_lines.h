/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines of source text beside the places that findings name. The names come from a recording, which may be anybody's:
 * only regular files with the suffix of a source file are read, and little of each.
 */
#ifndef GPUMEMTRACE_SINK_HTML_SOURCE_LINES_H
#define GPUMEMTRACE_SINK_HTML_SOURCE_LINES_H

#include "base/js.h"

struct view;
struct view_symbol;

/* The line of a symbol and those around the line: {"first": number, "lines": [text], "changed": whether the file is
 * newer than the recording}. null: the file cannot be read, or has no such line. */
json_t *source_lines_of(const struct view *view, const struct view_symbol *symbol);

#endif
