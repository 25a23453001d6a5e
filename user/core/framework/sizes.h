/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What tensors asked PyTorch's allocator for, beside the blocks that it gave them: it rounds up to 512 bytes
 * and more, and leaves pieces at the end of a block that are too small to be split off.
 *
 * The one invariant: what is kept is of live blocks, and the sums of a device are those of what is kept.
 */
#ifndef GPUMEMTRACE_CORE_FRAMEWORK_SIZES_H
#define GPUMEMTRACE_CORE_FRAMEWORK_SIZES_H

#include <stdint.h>

#include <gpumemtrace/wire.h>

#include "base/rangemap.h"

struct framework;

/* Of one block. */
struct framework_size {
	uint64_t bytes;          /* asked for */
	uint64_t stream;         /* PyTorch's number of it; 0 is the default stream */
};

/* One event: comes after that of the block. -EINVAL: malformed. */
int sizes_add(struct framework *f, const struct gmt_fw_size *rec);

/* A block goes. */
void sizes_forget(struct framework *f, const struct range *block);

/* Of the live block at an address; NULL: not known. */
const struct framework_size *sizes_of(const struct framework *f, uint64_t address);

#endif
