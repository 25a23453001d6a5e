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
/* The sentence alone, in one line. */
void finding_text_say(struct out *out, const struct view *view, const struct finding *finding);
/* The process and the GPU, where there are several: "pid 4242, GPU 1: ". */
void finding_text_subject(struct out *out, const struct view *view, const struct finding *finding);
/* What to do, or to look for. */
const char *finding_text_remedy(const struct view *view, const struct finding *finding);
/* Of so many requests that failed, the newest one that has a picture: "512 MiB at train.py:31 failed: perhaps a leak
 * (train.py:21 keeps 53 MiB)". */
void finding_text_why(struct out *out, const struct oom_why *why, uint64_t requests);
/* The line in this sentence that holds the memory; where the sentence has none, the line that asked. */
const struct oom_place *finding_text_why_place(const struct oom_why *why);
/* The finding in lines of at most `columns`. First the sentence, with its word and a subject in front; then the line
 * of code that keeps the memory; then what follows from the finding and what to do about it, unless the report's end
 * says that. */
void finding_text_sentence(struct out *out, const struct view *view, const struct finding *finding,
			   const char *subject, unsigned columns, const struct sink_opts *opts);
void finding_text_keeper(struct out *out, const struct view *view, const struct finding *finding, unsigned columns,
			 const struct sink_opts *opts);
void finding_text_advice(struct out *out, const struct view *view, const struct finding *finding, unsigned columns,
			 const struct sink_opts *opts);
/* The sentence and the line of code, in a report. */
void finding_text_answer(struct out *out, const struct view *view, const struct finding *finding,
			 const struct sink_opts *opts);

#endif
