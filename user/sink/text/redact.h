/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes out of an output what should not be shared: command lines, cgroups, the host's name, and the folders of
 * files. */
#ifndef GPUMEMTRACE_SINK_TEXT_REDACT_H
#define GPUMEMTRACE_SINK_TEXT_REDACT_H

#include <stddef.h>

#include "core/view/view.h"

struct out;

/* A copy of a view without these words; all else is the view's. redact_free() frees what is the copy's own. */
void redact_view(const struct view *view, struct view *copy);
void redact_free(struct view *copy);

/*
 * Writes a text in which only the last part of each path is left: "cannot open /opt/my job/x.so" as "cannot open x.so".
 * Paths begin with "/", "~/", "C:\" or "\\server\", also behind "=". Hosts of URLs and addresses go, too. Nothing tells
 * where a path ends whose folders have blanks: what lies between a path and a later slash goes with the path.
 */
void redact_lines(struct out *out, const char *text, size_t size);   /* of a report: each line by itself */
void redact_word(struct out *out, const char *text, size_t size);    /* a name or a sentence; one that begins with a
									path is nothing but this path */

#endif
