// SPDX-License-Identifier: BSD-2-Clause
#include "core/terms/dropped.h"

static const struct {
	const char *name, *one, *many;
} drops[] = {
#define X(name, json_name, one, many) { json_name, one, many },
	VIEW_DROPS(X)
#undef X
};

const char *view_drop_name(enum view_drop drop)
{
	return drops[drop].name;
}

const char *view_drop_text(enum view_drop drop, uint64_t count)
{
	return count == 1 ? drops[drop].one : drops[drop].many;
}
