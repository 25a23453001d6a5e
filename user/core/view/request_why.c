// SPDX-License-Identifier: BSD-2-Clause
#include "core/view/request_why.h"

#include "base/xalloc.h"
#include "core/ledger/ledger_state.h"
#include "core/ledger/process.h"
#include "core/oom/oom_dump.h"
#include "core/oom/oom_kept.h"
#include "core/pipeline/pipeline.h"
#include "core/view/oom_view.h"

#define LINES_LEAST 10       /* lines are found among so many stacks at least */

/* Whether the reason has to be found out, or found out anew. */
static bool is_outdated(const struct pipeline *pl, const struct oom_kept *kept, size_t unnamed,
			const struct view_request *request)
{
	if (!kept->why.is_known)
		return true;
	if (kept->is_earlier)
		return pl->ledger->now_ns - kept->why_ns >= request->why_age_ns;
	return kept->unnamed != unnamed || kept->had_lines != (request->decide != NULL);
}

struct oom_why *view_find_why(const struct pipeline *pl, const struct process *p, const struct view_request *request)
{
	struct oom_kept *kept = ooms_kept(pl->ooms, p->index);
	size_t unnamed = kept ? oom_unnamed(pl->ledger, kept->oom, NULL) : 0;
	struct view_request all = *request;     /* who else holds memory belongs to the answer */
	struct oom_why *why;
	struct oom_view view;

	if (kept && is_outdated(pl, kept, unnamed, request)) {
		all.pid_count = 0;
		all.gpu = NULL;
		all.ages = all.over_time = false;
		all.top = all.top < LINES_LEAST ? LINES_LEAST : all.top;
		oom_view_build(pl, kept->oom, &all, &view);
		oom_why_read(&view, &kept->why);
		oom_view_free(&view);
		kept->why_ns = pl->ledger->now_ns;
		kept->is_earlier = false;
		kept->unnamed = unnamed;
		kept->had_lines = request->decide != NULL;
	}
	if (!kept || !kept->why.is_known)
		return NULL;
	why = xmalloc(sizeof(*why));
	*why = kept->why;
	return why;
}
