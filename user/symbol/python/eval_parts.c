// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/python/eval_parts.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

#define JUMPS_MIN 2                 /* into the middle of a part: two are unlikely to be chance */

struct part {
	struct gmt_py_range range;
	unsigned int jumps;
};

/* 0f 80..8f rel32 is a conditional jump (Intel SDM, volume 2, Jcc). 0: no jump. */
static uint64_t jump_x86(const unsigned char *code, uint64_t vaddr)
{
	int32_t rel;

	if (code[0] != 0x0f || (code[1] & 0xf0) != 0x80)
		return 0;
	memcpy(&rel, code + 2, sizeof(rel));
	return vaddr + 6 + (uint64_t)(int64_t)rel;
}

/* Arm Architecture Reference Manual (DDI 0487), C4.1, Branches, Exception Generating and System instructions. GCC leads
 * conditional branches to another section by way of a B at the function's end. */
static uint64_t jump_arm64(const unsigned char *code, uint64_t vaddr)
{
	static const struct {
		uint32_t mask, bits;
		unsigned char shift, width; /* of the distance, in instructions */
	} forms[] = {
		{ 0xff000000, 0x54000000, 5, 19 }, /* B.cond, BC.cond */
		{ 0x7e000000, 0x34000000, 5, 19 }, /* CBZ, CBNZ */
		{ 0x7e000000, 0x36000000, 5, 14 }, /* TBZ, TBNZ */
		{ 0xfc000000, 0x14000000, 0, 26 }, /* B */
	};
	uint32_t word;

	memcpy(&word, code, sizeof(word));
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		uint32_t sign = 1u << (forms[i].width - 1), field = word >> forms[i].shift & (2 * sign - 1);

		if ((word & forms[i].mask) == forms[i].bits)
			return vaddr + 4 * ((field ^ sign) - (uint64_t)sign);
	}
	return 0;
}

/* How a machine jumps. Where an instruction may begin at any byte, each byte is tried as a jump: other bytes seldom
 * lead into the middle of a function, let alone twice. */
static const struct machine {
	uint16_t machine;
	unsigned char step, bytes;  /* from one instruction to the next that is tried; of a jump */
	uint64_t (*jump)(const unsigned char *code, uint64_t vaddr);
} machines[] = {
	{ EM_X86_64, 1, 6, jump_x86 },
	{ EM_AARCH64, 4, 4, jump_arm64 },
};

static const struct machine *machine_of(const struct image *image)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		if (machines[i].machine == image->machine)
			return &machines[i];
	return NULL;
}

/* A jump to the start of a function is a call at the end of the caller. */
static void count_jump(const struct image *image, struct part parts[EVAL_PARTS_MAX], uint64_t target)
{
	uint64_t start, size;

	if (!image_code_at(image, target) || !image_fde(image, target, &start, &size) || target == start)
		return;
	for (size_t i = 0; i < EVAL_PARTS_MAX; i++) {
		if (!parts[i].jumps)
			parts[i].range = (struct gmt_py_range){ start, start + size };
		if (parts[i].range.start == start) {
			parts[i].jumps++;
			return;
		}
	}
}

size_t eval_parts(const struct image *image, const struct gmt_py_range *eval,
		  struct gmt_py_range parts[EVAL_PARTS_MAX])
{
	const struct machine *machine = machine_of(image);
	struct part found[EVAL_PARTS_MAX] = { 0 };
	uint64_t size = eval->end - eval->start;
	unsigned char *code;
	size_t count = 0;

	if (!machine)
		return 0;
	code = xmalloc(size);
	if (!image_read_at(image, eval->start, code, size))
		size = 0;
	for (uint64_t i = 0; i + machine->bytes <= size; i += machine->step) {
		uint64_t target = machine->jump(code + i, eval->start + i);

		if (target && (target < eval->start || target >= eval->end))
			count_jump(image, found, target);
	}
	free(code);
	for (size_t i = 0; i < EVAL_PARTS_MAX; i++) {
		if (found[i].jumps >= JUMPS_MIN)
			parts[count++] = found[i].range;
	}
	return count;
}
