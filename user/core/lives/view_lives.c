// SPDX-License-Identifier: BSD-2-Clause
#include "core/lives/view_lives.h"

#include <stdlib.h>

void view_lives_free(struct view_lives *lives)
{
	if (!lives)
		return;
	free(lives->list);
	free(lives->moments);
	free(lives);
}
