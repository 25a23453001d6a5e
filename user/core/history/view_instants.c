// SPDX-License-Identifier: BSD-2-Clause
#include "core/history/view_instants.h"

#include <stdlib.h>

void view_instants_free(struct view_instants *instants)
{
	for (size_t i = 0; instants && i < instants->count; i++) {
		free(instants->list[i].segments);
		free(instants->list[i].blocks);
	}
	if (instants)
		free(instants->list);
	free(instants);
}
