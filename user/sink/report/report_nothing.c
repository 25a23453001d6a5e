// SPDX-License-Identifier: BSD-2-Clause
/*
 * The sentence of a report in which nothing was found: what was looked at, and what the records do not show.
 *
 *     FOUND   nothing: no request failed for good, no line grows by 5 % all along, no
 *             other process is in the way
 *             not known: leaks (no training was seen)
 */
#include "base/human.h"
#include "base/out.h"
#include "core/view/looked.h"
#include "core/view/thresholds.h"
#include "sink/report/report_others.h"
#include "sink/text/finding_text.h"
#include "sink/text/text.h"

/* The sentences name what is little enough to go unsaid. */
_Static_assert(GROWTH_SHARE == 5 && LEAK_SHARE == 1, "the numbers of the sentences");

static const struct {
	const char *is_none, *is_unknown;
} questions[LOOKED_FOR_COUNT] = {
	[LOOKED_FOR_REQUESTS] = { "no request failed for good", "failed requests" },
	[LOOKED_FOR_GROWTH] = { "no line grows by 5 % all along", "growth" },
	[LOOKED_FOR_LEAK] = { "no leak of 1 % of the peak", "leaks" },
	[LOOKED_FOR_PIECES] = { "fragmentation did no harm", "fragmentation" },
	[LOOKED_FOR_CACHE] = { "no large unused cache", "the cache" },
	[LOOKED_FOR_OTHERS] = { "no other process is in the way", "other processes" },
	[LOOKED_FOR_LINES] = { NULL, "the lines that hold tensors" },
};

static const char *const reasons[] = {
	[LOOKED_NO_CALLS] = "calls were not traced",
	[LOOKED_SHORT] = "the program was traced for too short a time",
	[LOOKED_NEW_BLOCKS] = "PyTorch was seen for less than 10 s",
	[LOOKED_NO_STACKS] = "no stack traces were taken",
	[LOOKED_NO_TRAINING] = "no training was seen",
	[LOOKED_OLD_BLOCKS] = "some of PyTorch's memory is older than the attach",
	[LOOKED_NO_NVML] = "NVML gave no numbers of the whole GPU",
	[LOOKED_NO_BLOCK_STACKS] = "--block-stacks records them",
};

/* "nothing" would be too much said of requests that failed at first. */
static void print_retries(struct out *known, const struct view *view)
{
	uint64_t retries = 0;

	for (size_t i = 0; i < view->proc_count; i++)
		retries += view->procs[i].ooms[GMT_OOM_RETRY];
	if (retries)
		out_printf(known, " (%s %s met by a retry)", human_count(retries).s,
			   human_plural(retries, "was", "were"));
}

void report_nothing(struct report_answer *a)
{
	enum looked by[LOOKED_FOR_COUNT];
	unsigned none = 0, unknown = 0;
	struct out known, not_known, *out;

	looked_at(a->view, by);
	if (a->view->finding_count || by[LOOKED_FOR_REQUESTS] == LOOKED_NEVER)
		return;
	out_init_mem(&known);
	out_init_mem(&not_known);
	for (int i = 0; i < LOOKED_FOR_COUNT; i++) {
		if (by[i] == LOOKED_AT && questions[i].is_none) {
			out_printf(&known, "%s%s", none++ ? ", " : "nothing: ", questions[i].is_none);
			if (i == LOOKED_FOR_REQUESTS)
				print_retries(&known, a->view);
		} else if (by[i] > LOOKED_AT)
			out_printf(&not_known, "%s%s (%s)", unknown++ ? ", " : "not known: ", questions[i].is_unknown,
				   reasons[by[i]]);
	}
	if (!none)
		out_text(&known, "nothing, because nothing could be looked at");
	out = page_part(&a->page, REPORT_FINDINGS, PAGE_FINDINGS, 1);
	text_wrap(out, "FOUND", FINDING_TEXT_LABEL, TEXT_COLUMNS, &known);
	if (unknown)
		text_wrap(page_part(&a->page, REPORT_FIRST_ADVICE, PAGE_DETAILS, 1), "", FINDING_TEXT_LABEL,
			  TEXT_COLUMNS, &not_known);
	else
		out_close(&not_known);
}
