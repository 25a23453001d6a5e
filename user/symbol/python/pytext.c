// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/python/pytext.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

#define HEADER_BYTES (PYLAYOUT_UNICODE_STATE + 4)
#define NOT_A_CHARACTER 0xfffd

static uint32_t char_at(const void *chars, size_t i, unsigned int kind)
{
	const unsigned char *at = (const unsigned char *)chars + i * kind;
	uint32_t value = 0;

	memcpy(&value, at, kind); /* both machines are little-endian */
	if (value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
		return NOT_A_CHARACTER;
	return value < 0x20 || (value >= 0x7f && value < 0xa0) ? '?' : value;
}

static size_t put_utf8(char *out, uint32_t value)
{
	unsigned int more = (value >= 0x80) + (value >= 0x800) + (value >= 0x10000);

	for (unsigned int i = more; i; i--, value >>= 6)
		out[i] = (char)(0x80 | (value & 0x3f));
	out[0] = (char)(more ? 0xff00 >> (more + 1) | value : value); /* the high bits count the bytes */
	return more + 1;
}

size_t pytext_utf8(const void *chars, size_t count, unsigned int kind, char *out)
{
	size_t len = 0;

	for (size_t i = 0; i < count; i++)
		len += put_utf8(out + len, char_at(chars, i, kind));
	out[len] = '\0';
	return len;
}

int pytext_read(const struct pylayout *layout, uint64_t addr, size_t most, py_read_fn read, void *arg,
		char **text)
{
	unsigned char header[HEADER_BYTES];
	void *chars = NULL;
	uint64_t length;
	uint32_t state;
	unsigned int kind;
	bool is_cut;
	size_t len;
	int err;

	*text = NULL;
	err = read(arg, addr, header, sizeof(header));
	if (err)
		return err;
	memcpy(&length, header + PYLAYOUT_UNICODE_LENGTH, sizeof(length));
	memcpy(&state, header + PYLAYOUT_UNICODE_STATE, sizeof(state));
	kind = state >> 2 & 7;
	if ((kind != 1 && kind != 2 && kind != 4) || !(state >> 5 & 1) || length >= 1ULL << 31)
		return -EINVAL;
	is_cut = length > most;
	if (is_cut)
		length = most;
	chars = xmalloc(length * kind + 1);
	addr += state >> 6 & 1 ? layout->unicode_ascii : layout->unicode_compact;
	err = length ? read(arg, addr, chars, length * kind) : 0;
	if (!err) {
		*text = xmalloc(length * 4 + sizeof("..."));
		len = pytext_utf8(chars, length, kind, *text);
		if (is_cut)
			memcpy(*text + len, "...", sizeof("..."));
	}
	free(chars);
	return err;
}
