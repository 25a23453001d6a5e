/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes a failed request for memory, for people and in JSON. */
#ifndef GPUMEMTRACE_SINK_OOM_OOM_SINKS_H
#define GPUMEMTRACE_SINK_OOM_OOM_SINKS_H

#include "base/human.h"
#include "core/view/oom_view.h"
#include "sink/text/page.h"

struct out;
struct sink_opts;

/* Writes the head: the outcome, the time, the host, the process, the GPU. */
void oom_text_head(struct out *out, const struct oom_view *view);
/* Writes the verdict, in lines of at most `columns`; 0: each section is one line. file: NULL, or where it is from. */
void oom_text(struct out *out, const struct oom_view *view, const char *file, unsigned columns);
/* The same in parts. */
void oom_text_parts(struct page *page, const struct oom_view *view, const char *file, unsigned columns);
#define OOM_LABEL_COLUMNS 7
/* What stays longest where the verdict has no room comes first. */
enum oom_rank {
	OOM_RANK_ANSWER,     /* the request, the first cause, the line with the most memory, what to do first */
	OOM_RANK_ASKER,      /* the GPU, and the process that asked */
	OOM_RANK_MORE,       /* further causes, lines and remedies; what is ruled out */
	OOM_RANK_HOLDERS,    /* other processes */
	OOM_RANK_TENSORS,    /* what each process needs its memory for */
};

/* Prints the head, the verdict and who held the GPU's memory. opts->full: then tables of all that the picture has. */
void oom_print(struct out *out, const struct oom_view *view, const struct sink_opts *opts);
/* Prints one of several requests, in short if a retry succeeded, unless opts->verbose. */
void oom_print_next(struct out *out, const struct oom_view *view, const struct sink_opts *opts);
/* Prints the request as a line of a list; the first of opts->printed has a head. */
void oom_print_row(struct out *out, const struct oom_view *view, const struct sink_opts *opts);
void oom_print_none(struct out *out, const struct sink_opts *opts);
/* Prints one line of JSON, "type": "oom". */
void oom_print_json(struct out *out, const struct oom_view *view, const struct sink_opts *opts);

/* ---- parts ---- */

/* Who held the memory, with shares: oom_holders.c. */
void oom_holders_parts(struct page *page, const struct oom_view *view);
/* The cause in a few words, at most OOM_WORD_COLUMNS, for lists: oom_sentences.c. */
#define OOM_WORD_COLUMNS 17
const char *oom_cause_word(enum oom_cause_kind kind);
/* One sentence each: oom_sentences.c, oom_more.c. */
void oom_say_cause(struct out *out, const struct oom_view *view, const struct oom_cause *cause);
void oom_say_reason(struct out *out, const struct oom_view *view, const struct oom_reason *reason);
void oom_say_remedy(struct out *out, const struct oom_view *view, enum oom_remedy remedy);
/* What a retry got that succeeded; oom_say_outcome() is for all other outcomes of a request. */
void oom_say_retry(struct out *out, const struct oom_view *view);
void oom_say_outcome(struct out *out, const struct oom_view *view);
void oom_say_changes(struct out *out, const struct oom_view *view);
/* "pid 4242 python train.py"; a line, or the stack where no line is the program's own; "GPU 1". */
void oom_text_process(struct out *out, const struct oom_view *view, size_t index);
void oom_text_line(struct out *out, const struct oom_view *view, const struct view_line_row *line);
struct human oom_text_gpu(const struct oom_view *view);

#endif
