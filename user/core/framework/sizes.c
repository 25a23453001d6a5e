// SPDX-License-Identifier: BSD-2-Clause
/*
 * The sizes that tensors asked PyTorch's allocator for. The allocator rounds a size up to 512 bytes or more, and a
 * block keeps a piece at its end that is too small to be split off.
 *
 * The one invariant: only sizes of live blocks are kept, and a device's sums are the sums of these sizes.
 */
#include "core/framework/framework_state.h"

#include <errno.h>

#include "core/ledger/alloc.h"

int sizes_add(struct framework *f, const struct gmt_fw_size *rec)
{
	const struct range *block;
	struct framework_size *size;
	bool is_new;

	if (rec->device_type == GMT_FW_HOST)
		return 0;
	if (rec->size > ALLOC_SIZE_MAX)
		return -EINVAL;
	block = rangemap_at(&f->blocks, rec->ptr);
	/* The probe is in backends without blocks, too. A block is at least as large as its requested size. */
	if (!block || (rec->device_type == GMT_FW_GPU && (uint64_t)block->gpu != rec->device_index) ||
	    rec->size > block->length)
		return 0;
	if (!f->sizes.value_size)
		hash_init(&f->sizes, sizeof(struct framework_size));
	size = hash_put(&f->sizes, rec->ptr, &is_new);
	if (!is_new)
		return 0;
	*size = (struct framework_size){ .bytes = rec->size, .stream = rec->stream };
	struct framework_device *d = &f->devices[block->gpu];

	d->sized++;
	d->sized_bytes += block->length;
	d->asked_bytes += rec->size;
	return 0;
}

void sizes_forget(struct framework *f, const struct range *block)
{
	const struct framework_size *size = sizes_of(f, block->base);
	struct framework_device *d = &f->devices[block->gpu];

	if (!size)
		return;
	d->sized--;
	d->sized_bytes -= block->length;
	d->asked_bytes -= size->bytes;
	hash_erase(&f->sizes, block->base);
}

const struct framework_size *sizes_of(const struct framework *f, uint64_t address)
{
	return f ? hash_get(&f->sizes, address) : NULL;
}
