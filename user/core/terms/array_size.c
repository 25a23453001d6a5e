/* SPDX-License-Identifier: BSD-2-Clause */
/* See array_size.h. Formats and flags: cuda.h of CUDA 13.5, CUarray_format_enum and CUDA_ARRAY3D_*. */
#include "core/terms/array_size.h"

#include <stddef.h>

#define FLAG_LAYERED 0x01
#define FLAG_CUBEMAP 0x04
#define FLAG_SPARSE 0x40
#define FLAG_DEFERRED_MAPPING 0x80

/*
 * What a format costs: `bits` for each channel of a texel, where the descriptor's channels count, else
 * for the whole texel. A block-compressed format stores 4 x 4 texels in one block.
 */
struct format {
	uint16_t first, last;
	uint8_t bits;
	bool per_channel;
	bool blocks;
};

static const struct format formats[] = {
	{ 0x01, 0x01, 8, true, false },    /* UNSIGNED_INT8 */
	{ 0x02, 0x02, 16, true, false },   /* UNSIGNED_INT16 */
	{ 0x03, 0x03, 32, true, false },   /* UNSIGNED_INT32 */
	{ 0x08, 0x08, 8, true, false },    /* SIGNED_INT8 */
	{ 0x09, 0x09, 16, true, false },   /* SIGNED_INT16 */
	{ 0x0a, 0x0a, 32, true, false },   /* SIGNED_INT32 */
	{ 0x10, 0x10, 16, true, false },   /* HALF */
	{ 0x20, 0x20, 32, true, false },   /* FLOAT */
	{ 0x50, 0x50, 32, false, false },  /* UNORM_INT_101010_2 */
	{ 0x51, 0x51, 16, false, false },  /* UINT8_PACKED_422: 4:2:2 has two texels in one of 4 channels */
	{ 0x52, 0x52, 32, false, false },  /* UINT8_PACKED_444 */
	{ 0x53, 0x53, 12, false, false },  /* UINT8, UINT16_SEMIPLANAR_420: chroma has half of luma's bytes */
	{ 0x54, 0x54, 24, false, false },
	{ 0x55, 0x55, 16, false, false },  /* UINT8, UINT16_SEMIPLANAR_422: as many */
	{ 0x56, 0x56, 32, false, false },
	{ 0x57, 0x57, 24, false, false },  /* UINT8, UINT16_SEMIPLANAR_444: twice as many */
	{ 0x58, 0x58, 48, false, false },
	{ 0x59, 0x59, 12, false, false },  /* UINT8, UINT16_PLANAR_420, _422, _444: as semi-planar */
	{ 0x5a, 0x5a, 24, false, false },
	{ 0x5b, 0x5b, 16, false, false },
	{ 0x5c, 0x5c, 32, false, false },
	{ 0x5d, 0x5d, 24, false, false },
	{ 0x5e, 0x5e, 48, false, false },
	{ 0x91, 0x92, 4, false, true },    /* BC1: 8 bytes a block */
	{ 0x93, 0x96, 8, false, true },    /* BC2, BC3: 16 bytes a block */
	{ 0x97, 0x98, 4, false, true },    /* BC4 */
	{ 0x99, 0x9e, 8, false, true },    /* BC5, BC6H, BC7 */
	{ 0x9f, 0x9f, 24, false, false },  /* P010: 16 bits luma, 4:2:0 chroma half of that again */
	{ 0xa1, 0xa1, 24, false, false },  /* P016 */
	{ 0xa2, 0xa2, 16, false, false },  /* NV16: 4:2:2 */
	{ 0xa3, 0xa4, 32, false, false },  /* P210, P216 */
	{ 0xa5, 0xa5, 16, false, false },  /* YUY2 */
	{ 0xa6, 0xa7, 32, false, false },  /* Y210, Y216 */
	{ 0xa8, 0xa9, 32, false, false },  /* AYUV, Y410 */
	{ 0xb0, 0xb0, 12, false, false },  /* NV12 */
	{ 0xb1, 0xb1, 64, false, false },  /* Y416 */
	{ 0xb2, 0xb2, 24, false, false },  /* Y444_PLANAR8 */
	{ 0xb3, 0xb3, 48, false, false },  /* Y444_PLANAR10 */
	{ 0xb4, 0xb4, 24, false, false },  /* YUV444_8bit_SemiPlanar */
	{ 0xb5, 0xb5, 48, false, false },  /* YUV444_16bit_SemiPlanar */
	{ 0xc0, 0xc0, 8, false, false },   /* UNORM_INT8X1, X2, X4: the name says the channels */
	{ 0xc1, 0xc1, 16, false, false },
	{ 0xc2, 0xc2, 32, false, false },
	{ 0xc3, 0xc3, 16, false, false },  /* UNORM_INT16X1, X2, X4 */
	{ 0xc4, 0xc4, 32, false, false },
	{ 0xc5, 0xc5, 64, false, false },
	{ 0xc6, 0xc6, 8, false, false },   /* SNORM_INT8X1, X2, X4 */
	{ 0xc7, 0xc7, 16, false, false },
	{ 0xc8, 0xc8, 32, false, false },
	{ 0xc9, 0xc9, 16, false, false },  /* SNORM_INT16X1, X2, X4 */
	{ 0xca, 0xca, 32, false, false },
	{ 0xcb, 0xcb, 64, false, false },
};

static const struct format *format_of(uint32_t format)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (format >= formats[i].first && format <= formats[i].last)
			return &formats[i];
	return NULL;
}

static uint64_t at_least_1(uint64_t n)
{
	return n ? n : 1;
}

/* Bytes of one level; UINT64_MAX on overflow. */
static uint64_t level_size(const struct format *format, uint64_t width, uint64_t height, uint64_t depth,
			   uint64_t bits)
{
	uint64_t size;

	if (format->blocks) {
		if (width > UINT64_MAX - 3 || height > UINT64_MAX - 3)
			return UINT64_MAX;
		width = (width + 3) & ~3ULL;
		height = (height + 3) & ~3ULL;
	}
	if (__builtin_mul_overflow(width, height, &size) || __builtin_mul_overflow(size, depth, &size) ||
	    __builtin_mul_overflow(size, bits, &size))
		return UINT64_MAX;
	return size / 8 + (size % 8 != 0);
}

bool array_has_memory(uint32_t flags)
{
	return !(flags & (FLAG_SPARSE | FLAG_DEFERRED_MAPPING));
}

uint64_t array_size(const struct array_shape *shape)
{
	const struct format *format = format_of(shape->format);
	uint64_t width = shape->width, height = at_least_1(shape->height), depth = at_least_1(shape->depth);
	uint64_t levels = at_least_1(shape->levels), total = 0;

	if (!array_has_memory(shape->flags))
		return 0;
	if (!format || !width || shape->channels > 4)
		return ARRAY_SIZE_UNKNOWN;
	uint64_t bits = format->per_channel ? format->bits * at_least_1(shape->channels) : format->bits;

	/* There are at most 1 + log2(longest side) levels: cuMipmappedArrayCreate clamps the number. */
	for (; levels; levels--) {
		uint64_t size = level_size(format, width, height, depth, bits);

		if (size == UINT64_MAX || __builtin_add_overflow(total, size, &total))
			return ARRAY_SIZE_UNKNOWN;
		/* Each level has as many layers as the first; the six faces of a cubemap (depth 6k) are layers. */
		bool layers_stay = shape->flags & (FLAG_LAYERED | FLAG_CUBEMAP);
		if (width == 1 && height == 1 && (depth == 1 || layers_stay))
			break;
		width = at_least_1(width / 2);
		height = at_least_1(height / 2);
		depth = layers_stay ? depth : at_least_1(depth / 2);
	}
	return total;
}
