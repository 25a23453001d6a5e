/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The part of wire.h, which includes it, that says which frameworks there are: libraries that cut the driver's memory
 * into blocks by an allocator of their own. What is probed of one is a row of user/live/framework.
 */
#ifndef GPUMEMTRACE_FW_H
#define GPUMEMTRACE_FW_H

/* X(NAME, value, row, text). Append-only, values written out. Recordings made before the list have 0 in this place, and
 * all of their events are PyTorch's. */
#define GMT_FRAMEWORKS(X)                                                         \
	X(PYTORCH, 0, pytorch, "PyTorch")

enum gmt_fw {
#define X(name, value, row, text) GMT_FW_##name = value,
	GMT_FRAMEWORKS(X)
#undef X
	GMT_FW_COUNT
};

/* Where a block lies, whatever the framework calls the place. GPU has the number that c10::DeviceType::CUDA has
 * (c10/core/DeviceType.h), which is what recordings made before this enum hold. */
enum gmt_fw_device {
	GMT_FW_HOST = 0,        /* or another device that is no GPU of CUDA's: not sent */
	GMT_FW_GPU = 1,
};

#endif
