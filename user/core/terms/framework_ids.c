// SPDX-License-Identifier: BSD-2-Clause
#include "core/terms/framework_ids.h"

bool framework_is_unknown(const struct gmt_hdr *record)
{
	switch (record->kind) {
#define X(kind, type)                                                             \
	case GMT_KIND_##kind:                                                     \
		return ((const struct type *)record)->framework >= GMT_FW_COUNT;
	X(FW_MEM, gmt_fw_mem)
	X(FW_OOM, gmt_fw_oom)
	X(FW_RANGE, gmt_fw_range)
	X(FW_SIZE, gmt_fw_size)
	X(FRAMEWORK, gmt_framework)
#undef X
	}
	return false;
}
