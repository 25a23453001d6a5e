// SPDX-License-Identifier: BSD-2-Clause
#include "base/siphash.h"

#include <string.h>

static uint64_t turn_left(uint64_t word, unsigned int bits)
{
	return word << bits | word >> (64 - bits);
}

/* Section 2.2 and figure 2.1 of the paper. */
static void sip_rounds(uint64_t v[4], unsigned int rounds)
{
	while (rounds--) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = turn_left(v[1], 13) ^ v[0];
		v[3] = turn_left(v[3], 16) ^ v[2];
		v[0] = turn_left(v[0], 32) + v[3];
		v[2] += v[1];
		v[1] = turn_left(v[1], 17) ^ v[2];
		v[3] = turn_left(v[3], 21) ^ v[0];
		v[2] = turn_left(v[2], 32);
	}
}

static void sip_word(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	sip_rounds(v, 2);
	v[0] ^= word;
}

uint64_t siphash(const uint64_t key[2], const void *bytes, size_t size)
{
	/* "somepseudorandomlygeneratedbytes" */
	uint64_t v[4] = {
		key[0] ^ 0x736f6d6570736575ULL, key[1] ^ 0x646f72616e646f6dULL,
		key[0] ^ 0x6c7967656e657261ULL, key[1] ^ 0x7465646279746573ULL,
	};
	const unsigned char *at = bytes;
	uint64_t last = (uint64_t)size << 56, word;

	/* the words are little-endian, as both machines are */
	for (size_t left = size; left >= sizeof(word); left -= sizeof(word), at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		sip_word(v, word);
	}
	for (size_t i = 0; i < size % sizeof(word); i++)
		last |= (uint64_t)at[i] << 8 * i;
	sip_word(v, last);
	v[2] ^= 0xff;
	sip_rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}
