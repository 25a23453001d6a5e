// SPDX-License-Identifier: BSD-2-Clause
/* See torch_size.h. */
#include "core/framework/torch_size.h"

#include <errno.h>

#include "core/ledger/process.h"
#include "core/framework/torch.h"

int torch_size_told(struct process *p, const struct gmt_fw_size *rec)
{
	struct torch *t = p->torch;
	const struct range *block;
	struct torch_size *size;
	bool is_new;

	if (rec->device_type != GMT_C10_CUDA)
		return 0;
	if (rec->size > ALLOC_SIZE_MAX)
		return -EINVAL;
	block = t ? rangemap_at(&t->blocks, rec->ptr) : NULL;
	/* Other backends have the probe, too, and no blocks. PyTorch gives out what was asked for or more. */
	if (!block || (uint64_t)block->gpu != rec->device_index || rec->size > block->length)
		return 0;
	if (!t->sizes.value_size)
		hash_init(&t->sizes, sizeof(struct torch_size));
	size = hash_put(&t->sizes, rec->ptr, &is_new);
	if (!is_new)
		return 0;
	*size = (struct torch_size){ .bytes = rec->size, .stream = rec->stream };
	struct torch_device *d = &t->devices[block->gpu];

	d->sized++;
	d->sized_bytes += block->length;
	d->asked_bytes += rec->size;
	return 0;
}

void torch_size_forget(struct torch *t, const struct range *block)
{
	const struct torch_size *size = torch_size_of(t, block->base);
	struct torch_device *d = &t->devices[block->gpu];

	if (!size)
		return;
	d->sized--;
	d->sized_bytes -= block->length;
	d->asked_bytes -= size->bytes;
	hash_erase(&t->sizes, block->base);
}

const struct torch_size *torch_size_of(const struct torch *t, uint64_t address)
{
	return t ? hash_get(&t->sizes, address) : NULL;
}
