// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/unwind/ehframe.h"

#include <errno.h>
#include <stdlib.h>

#include "base/sorted.h"
#include "base/xalloc.h"
#include "symbol/unwind/cfa_arch.h"

/* Entry lengths (LSB 5, 10.6.1.1): 64 bits follow. */
#define LENGTH_64 0xffffffffu

static bool parse_cie(struct ehframe *eh, struct eh_cursor *c, size_t offset)
{
	struct eh_cie *cie;

	eh->cies = xgrow(eh->cies, eh->cie_count, sizeof(*eh->cies));
	cie = &eh->cies[eh->cie_count];
	if (!eh_cie_read(c, cie))
		return false;
	cie->offset = offset;
	eh->cie_count++;
	return true;
}

/* The CIE at an offset, which is nearly always the newest CIE. */
static const struct eh_cie *find_cie(const struct ehframe *eh, size_t offset)
{
	size_t i = eh->cie_count;

	if (i && eh->cies[i - 1].offset != offset)
		i = sorted_count(eh->cies, i, sizeof(*eh->cies), offset);
	return i && eh->cies[i - 1].offset == offset ? &eh->cies[i - 1] : NULL;
}

static bool parse_fde(struct ehframe *eh, struct eh_cursor *c, const struct eh_cie *cie)
{
	struct eh_fde fde = { .cie = (uint32_t)(cie - eh->cies) };

	fde.start = eh_pointer(c, cie->fde_encoding);
	fde.size = eh_pointer(c, cie->fde_encoding & EH_FORMAT);
	if (cie->has_augmentation)
		eh_take(c, eh_uleb(c));
	if (c->is_bad || (size_t)(c->end - c->p) > UINT32_MAX)
		return false;
	fde.program = eh_at(c);
	fde.program_size = (uint32_t)(c->end - c->p);
	eh->fdes = xgrow(eh->fdes, eh->fde_count, sizeof(*eh->fdes));
	eh->fdes[eh->fde_count++] = fde;
	return true;
}

/* Parses one entry behind its length. An entry that makes no sense ends the parsing, because the next length would
 * be wrong, too. */
static bool parse_entry(struct ehframe *eh, struct eh_cursor *c, size_t offset)
{
	size_t id_at = eh_at(c);
	uint32_t id = eh_u32(c);
	const struct eh_cie *cie;

	if (c->is_bad)
		return false;
	if (!id)
		return parse_cie(eh, c, offset);
	cie = id <= id_at ? find_cie(eh, id_at - id) : NULL;
	if (!cie)
		return false;
	return !cie->is_usable || parse_fde(eh, c, cie);
}

int ehframe_parse(struct ehframe *eh, const struct eh_bytes *bytes, uint16_t machine, bool stop_at_zero)
{
	struct eh_cursor c = eh_cursor(bytes, 0, bytes->size);

	*eh = (struct ehframe){ .bytes = *bytes, .arch = cfa_arch_of(machine) };
	if (!eh->arch)
		return -ENOTSUP;
	while (c.end - c.p >= 4) {
		size_t offset = eh_at(&c);
		uint64_t length = eh_u32(&c);
		struct eh_cursor entry;

		if (!length && stop_at_zero)
			break;
		if (length == LENGTH_64)
			length = eh_u64(&c);
		entry = eh_sub(&c, length);
		if (entry.is_bad || (length && !parse_entry(eh, &entry, offset))) {
			eh->is_damaged = true;
			break;
		}
	}
	return 0;
}

void ehframe_fini(struct ehframe *eh)
{
	free(eh->cies);
	free(eh->fdes);
	*eh = (struct ehframe){ 0 };
}
