/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The newest requests that failed for good, one for each process, with their pictures: those who show numbers say why a
 * request failed, also when nobody has taken the request out of the queue, or has long since done so.
 */
#ifndef GPUMEMTRACE_CORE_OOM_OOM_KEPT_H
#define GPUMEMTRACE_CORE_OOM_OOM_KEPT_H

#include "core/oom/oom_state.h"
#include "core/terms/oom_why.h"

#define OOM_KEPT 16          /* processes; the request that is oldest makes room */

struct oom_kept {
	uint64_t process;        /* the number of the process */
	struct oom *oom;
	/* What a view has found out, and what was known then: names come later than pictures. */
	struct oom_why why;
	uint64_t why_ns;         /* when */
	bool is_earlier;         /* `why` is of a request of the process before this one */
	size_t unnamed;
	bool had_lines;
};

/* Takes a copy of a request about which something new is known. A request without a picture takes no place; but
 * the outcome of the request that is there may change without one. */
void ooms_keep(struct ooms *o, uint64_t process, const struct oom *oom);
/* The process is forgotten. */
void ooms_drop_kept(struct ooms *o, uint64_t process);
/* NULL: there is none. Owned by `o`; good until the next record. */
struct oom_kept *ooms_kept(const struct ooms *o, uint64_t process);

void ooms_free_kept(struct ooms *o);

#endif
