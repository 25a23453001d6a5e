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

/* Writes a text in which only the last part of each absolute path is left: "cannot open /opt/job/x.so" as "cannot open
 * x.so". */
void redact_paths(struct out *out, const char *text, size_t size);

#endif
