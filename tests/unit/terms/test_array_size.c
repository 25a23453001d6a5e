// SPDX-License-Identifier: BSD-2-Clause
/* Estimated sizes of CUDA arrays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/terms/array_size.h"

#define UINT8 0x01
#define UINT16 0x02
#define FLOAT 0x20
#define NV12 0xb0
#define BC1 0x91
#define BC7 0x9d
#define INT8X4 0xc2
#define INT16X2 0xc4
#define CUBEMAP 0x04
#define LAYERED 0x01

static void sizes(void **state)
{
	static const struct {
		struct array_shape shape;
		uint64_t size;
	} cases[] = {
		/* width, height, depth, format, channels, flags, levels */
		{ { 100, 0, 0, UINT8, 1, 0, 0 }, 100 },
		{ { 100, 50, 0, FLOAT, 4, 0, 0 }, 100 * 50 * 16 },
		{ { 16, 16, 16, UINT16, 2, 0, 0 }, 16 * 16 * 16 * 4 },
		{ { 32, 32, 6, UINT8, 1, CUBEMAP, 0 }, 32 * 32 * 6 },
		{ { 32, 32, 12, UINT8, 1, CUBEMAP | LAYERED, 1 }, 32 * 32 * 12 },
		{ { 32, 0, 5, UINT8, 1, LAYERED, 0 }, 32 * 5 },
		{ { 4096, 4096, 0, FLOAT, 4, 0x40, 0 }, 0 },
		{ { 4096, 4096, 0, FLOAT, 4, 0x80, 0 }, 0 },
		/* Formats that say their channels by themselves. */
		{ { 10, 10, 0, INT8X4, 4, 0, 0 }, 400 },
		{ { 10, 10, 0, INT16X2, 2, 0, 0 }, 400 },
		{ { 64, 64, 0, NV12, 3, 0, 0 }, 64 * 64 * 3 / 2 },
		{ { 10, 10, 0, 0x50, 4, 0, 0 }, 400 },
		/* CUDA 13.5: 8 and 16 bits, packed, semi-planar and planar; 4:2:0, 4:2:2 and 4:4:4. */
		{ { 10, 10, 0, 0x51, 4, 0, 0 }, 200 },
		{ { 10, 10, 0, 0x52, 4, 0, 0 }, 400 },
		{ { 1920, 1080, 0, 0x53, 3, 0, 0 }, 1920 * 1080 * 3 / 2 },
		{ { 10, 10, 0, 0x54, 3, 0, 0 }, 300 },
		{ { 10, 10, 0, 0x55, 3, 0, 0 }, 200 },
		{ { 10, 10, 0, 0x56, 3, 0, 0 }, 400 },
		{ { 10, 10, 0, 0x57, 3, 0, 0 }, 300 },
		{ { 10, 10, 0, 0x58, 3, 0, 0 }, 600 },
		{ { 10, 10, 0, 0x59, 3, 0, 0 }, 150 },
		{ { 10, 10, 0, 0x5a, 3, 0, 0 }, 300 },
		{ { 10, 10, 0, 0x5b, 3, 0, 0 }, 200 },
		{ { 10, 10, 0, 0x5c, 3, 0, 0 }, 400 },
		{ { 10, 10, 0, 0x5d, 3, 0, 0 }, 300 },
		{ { 10, 10, 0, 0x5e, 3, 0, 0 }, 600 },
		{ { 10, 10, 0, 0x5f, 3, 0, 0 }, ARRAY_SIZE_UNKNOWN },
		/* Blocks of 4 x 4: 8 bytes for BC1, 16 for BC7; 5 texels take two blocks. */
		{ { 8, 8, 0, BC1, 4, 0, 0 }, 4 * 8 },
		{ { 5, 5, 0, BC1, 4, 0, 0 }, 4 * 8 },
		{ { 8, 8, 0, BC7, 4, 0, 0 }, 4 * 16 },
		/* Levels: halved down to 1, layers stay; as many as there can be. */
		{ { 8, 8, 0, UINT8, 1, 0, 2 }, 64 + 16 },
		{ { 8, 2, 0, UINT8, 1, 0, 4 }, 16 + 4 + 2 + 1 },
		{ { 8, 8, 8, UINT8, 1, 0, 4 }, 512 + 64 + 8 + 1 },
		{ { 8, 8, 6, UINT8, 1, CUBEMAP, 4 }, 6 * (64 + 16 + 4 + 1) },
		{ { 8, 8, 0, UINT8, 1, 0, 1000000 }, 64 + 16 + 4 + 1 },
		/* What makes no sense. */
		{ { 0, 8, 0, UINT8, 1, 0, 0 }, ARRAY_SIZE_UNKNOWN },
		{ { 8, 8, 0, 0x7777, 1, 0, 0 }, ARRAY_SIZE_UNKNOWN },
		{ { 8, 8, 0, UINT8, 77, 0, 0 }, ARRAY_SIZE_UNKNOWN },
		{ { UINT64_MAX, 2, 0, UINT8, 1, 0, 0 }, ARRAY_SIZE_UNKNOWN },
		{ { 1ull << 40, 1ull << 40, 0, UINT8, 1, 0, 0 }, ARRAY_SIZE_UNKNOWN },
		{ { UINT64_MAX, 1, 0, BC1, 4, 0, 0 }, ARRAY_SIZE_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (array_size(&cases[i].shape) != cases[i].size)
			fail_msg("case %zu: %lu, not %lu", i, array_size(&cases[i].shape), cases[i].size);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(sizes) };

	return cmocka_run_group_tests_name("array_size", tests, NULL, NULL);
}
