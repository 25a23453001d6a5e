// SPDX-License-Identifier: BSD-2-Clause
/* See pylines.h. pylayout.h names the formats and the documents of CPython that describe the formats. */
#include "symbol/python/pylines.h"

#include <limits.h>

#define NO_LINE (-128)           /* co_linetable of 3.10: these bytecodes have no source line */

static int as_line(int64_t line)
{
	return line > 0 && line <= INT_MAX ? (int)line : 0;
}

/* 3.8 and 3.9 have pairs (bytes of code, signed lines). A pair says where the next line begins. */
static int find_lnotab(const uint8_t *table, size_t size, int first, int lasti)
{
	int64_t line = first, addr = 0;

	for (size_t i = 0; i + 1 < size; i += 2) {
		addr += table[i];
		if (addr > lasti)
			break;
		line += (int8_t)table[i + 1];
	}
	return as_line(line);
}

/* 3.10 has pairs (bytes of code, signed lines). The lines are added first. */
static int find_linetable(const uint8_t *table, size_t size, int first, int lasti)
{
	int64_t line = first, end = 0;

	for (size_t i = 0; i + 1 < size; i += 2) {
		int8_t delta = (int8_t)table[i + 1];

		end += table[i];
		if (delta != NO_LINE)
			line += delta;
		if (end > lasti)
			return delta == NO_LINE ? 0 : as_line(line);
	}
	return 0;
}

/* Each byte has six bits, the lowest first; bit 6 says that more follow. The lowest bit of the number is its sign. */
static int64_t signed_varint(const uint8_t *table, size_t size, size_t at)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; at < size && shift < 36; at++, shift += 6) {
		value |= (uint64_t)(table[at] & 63) << shift;
		if (!(table[at] & 64))
			break;
	}
	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

enum location_code {             /* bits 3 to 6 of an entry's first byte; lower ones: a column is in it */
	ONE_LINE0 = 10,
	ONE_LINE2 = 12,
	NO_COLUMNS = 13,
	LONG = 14,
	NONE = 15,
};

/* From 3.11 on entries begin with a byte that has bit 7 set. Its low three bits are the units of code minus 1. */
static int find_location(const uint8_t *table, size_t size, int first, int lasti)
{
	int64_t line = first, end = 0;

	for (size_t i = 0; i < size;) {
		unsigned int code = table[i] >> 3 & 15;

		if (code == NO_COLUMNS || code == LONG)
			line += signed_varint(table, size, i + 1);
		else if (code >= ONE_LINE0 && code <= ONE_LINE2)
			line += code - ONE_LINE0;
		end += 2 * ((table[i] & 7) + 1);
		if (end > lasti)
			return code == NONE ? 0 : as_line(line);
		for (i++; i < size && !(table[i] & 0x80); i++)
			;
	}
	return 0;
}

int pylines_find(enum pylayout_lines format, const uint8_t *table, size_t size, int first, int lasti)
{
	if (lasti < 0)
		return as_line(first);
	if (format == PYLAYOUT_LNOTAB)
		return find_lnotab(table, size, first, lasti);
	if (format == PYLAYOUT_LINETABLE)
		return find_linetable(table, size, first, lasti);
	return find_location(table, size, first, lasti);
}
