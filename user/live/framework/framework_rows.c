// SPDX-License-Identifier: BSD-2-Clause
#include "live/framework/framework_rows.h"

static const struct framework *const frameworks[GMT_FW_COUNT] = {
#define X(name, value, row, text) [GMT_FW_##name] = &framework_##row,
	GMT_FRAMEWORKS(X)
#undef X
};

const struct framework *framework_of(enum gmt_fw id)
{
	return frameworks[id];
}
