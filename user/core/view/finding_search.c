// SPDX-License-Identifier: BSD-2-Clause
#include "core/view/finding_search.h"

#include "base/xalloc.h"

struct finding *finding_add(struct finding_search *s, enum finding_kind kind)
{
	s->list = xgrow(s->list, s->count, sizeof(*s->list));
	s->list[s->count] = (struct finding){
		.kind = kind, .proc = s->proc_index, .row = s->row_index, .other = FINDING_NONE,
		.left = FINDING_LEFT_UNKNOWN, .left_ns = FINDING_LEFT_UNKNOWN,
		.gpu = s->row ? s->row->gpu : VIEW_GPU_UNKNOWN,
	};
	return &s->list[s->count++];
}

const struct finding *finding_in_row(const struct finding_search *s, enum finding_kind kind)
{
	for (size_t i = s->count; i-- > 0;) {
		if (s->list[i].proc != s->proc_index || s->list[i].row != s->row_index)
			return NULL;
		if (s->list[i].kind == kind)
			return &s->list[i];
	}
	return NULL;
}
