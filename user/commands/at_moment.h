/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recording or a dump at one moment: "run.gmt@peak". The view has the names that came after the moment, too. A
 * recording is read twice, unless the moment is its end. The moment of a name without one is the peak, but the end of
 * standard input.
 */
#ifndef GPUMEMTRACE_COMMANDS_AT_MOMENT_H
#define GPUMEMTRACE_COMMANDS_AT_MOMENT_H

#include <stdbool.h>

#include "core/compare/moment.h"
#include "core/view/oom_view.h"
#include "playback.h"

struct attribution;
struct options;

struct at_moment {
	char *path;
	char *name;              /* "run.gmt@peak", also if people left out the moment; a dump has none */
	bool is_given;           /* the moment is */
	struct moment moment;
	struct playback playback; /* of the replay that made the view: names are its ledger's */
	bool is_open;
	uint64_t lost;           /* records, in the whole file */
	bool is_picture;         /* of a dump: the view is a part of `oom` */
	struct view view;
	struct oom_view oom;
};

/* Reads a name; "@peak" alone is a moment of `before` (NULL: not allowed). Returns an exit code, after a sentence. */
int at_moment_read(const char *text, const struct at_moment *before, struct at_moment *out);
/* Replays the file up to the moment, and builds the view with all lines. Returns an exit code, after a sentence. */
int at_moment_build(struct at_moment *at, const struct options *options, struct attribution *attribution);
void at_moment_free(struct at_moment *at);

static inline const struct view *at_moment_view(const struct at_moment *at)
{
	return at->is_picture ? &at->oom.view : &at->view;
}

#endif
