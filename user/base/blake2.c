// SPDX-License-Identifier: BSD-2-Clause
/* See blake2.h. Names and numbers are those of RFC 7693, sections 2 and 3. */
#include "base/blake2.h"

#include <stdint.h>
#include <string.h>

#define BLOCK 128
#define ROUNDS 12

static const uint64_t iv[8] = {
	0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
	0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
};

static const uint8_t sigma[10][16] = {
	{ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
	{ 14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3 },
	{ 11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4 },
	{ 7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8 },
	{ 9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13 },
	{ 2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9 },
	{ 12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11 },
	{ 13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10 },
	{ 6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5 },
	{ 10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0 },
};

static inline uint64_t rotate_right(uint64_t x, int n)
{
	return x >> n | x << (64 - n);
}

static inline void mix_words(uint64_t *a, uint64_t *b, uint64_t *c, uint64_t *d, uint64_t x, uint64_t y)
{
	*a += *b + x;
	*d = rotate_right(*d ^ *a, 32);
	*c += *d;
	*b = rotate_right(*b ^ *c, 24);
	*a += *b + y;
	*d = rotate_right(*d ^ *a, 16);
	*c += *d;
	*b = rotate_right(*b ^ *c, 63);
}

/* Both machines are little-endian, as the words are. */
static void compress_block(uint64_t h[8], const unsigned char *block, uint64_t bytes, int is_last)
{
	uint64_t v[16], m[16];

	memcpy(m, block, sizeof(m));
	memcpy(v, h, 64);
	memcpy(v + 8, iv, 64);
	v[12] ^= bytes;
	if (is_last)
		v[14] = ~v[14];
	for (int round = 0; round < ROUNDS; round++) {
		const uint8_t *s = sigma[round % 10];

#pragma GCC unroll 4
		for (int i = 0; i < 4; i++)
			mix_words(&v[i], &v[4 + i], &v[8 + i], &v[12 + i], m[s[2 * i]], m[s[2 * i + 1]]);
#pragma GCC unroll 4
		for (int i = 0; i < 4; i++)
			mix_words(&v[i], &v[4 + (i + 1) % 4], &v[8 + (i + 2) % 4], &v[12 + (i + 3) % 4],
				  m[s[8 + 2 * i]], m[s[9 + 2 * i]]);
	}
	for (int i = 0; i < 8; i++)
		h[i] ^= v[i] ^ v[i + 8];
}

void blake2b(void *hash, size_t size, const void *data, size_t data_size)
{
	const unsigned char *p = data;
	unsigned char last[BLOCK] = { 0 };
	uint64_t h[8], done = 0;

	memcpy(h, iv, sizeof(h));
	h[0] ^= 0x01010000 ^ size;
	for (; data_size - done > BLOCK; done += BLOCK)
		compress_block(h, p + done, done + BLOCK, 0);
	if (data_size)
		memcpy(last, p + done, data_size - done);
	compress_block(h, last, data_size, 1);
	memcpy(hash, h, size);
}
