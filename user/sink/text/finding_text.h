/* SPDX-License-Identifier: BSD-2-Clause */
/* Says findings (finding.h) to people. */
#ifndef GPUMEMTRACE_SINK_TEXT_FINDING_TEXT_H
#define GPUMEMTRACE_SINK_TEXT_FINDING_TEXT_H

#include "core/view/finding.h"
#include "core/view/view.h"

struct out;
struct sink_opts;

#define FINDING_TEXT_LABEL 8   /* columns of the word in front */

/* The word in front of the sentence: "LEAK". */
const char *finding_text_label(enum finding_kind kind);
/* One line for the finding with its word, then a line for what to do about the finding. */
void finding_text(struct out *out, const struct view *view, const struct finding *finding,
		  const struct sink_opts *opts);

#endif
