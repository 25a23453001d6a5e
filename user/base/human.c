/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/human.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/count.h"
#include "base/out.h"
#include "base/xalloc.h"

#define NS_PER_S 1000000000ull

/* The text has at most eight columns: "1.5 GiB", "12 MiB", "1023 KiB". A whole value has no decimal. */
static struct human scale_bytes(uint64_t bytes, const char *sign)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	struct human h;
	uint64_t unit = 1;
	size_t i = 0;

	/* 1023.5 KiB would print as "1024 KiB". */
	while (i + 1 < COUNT(units) && bytes >= unit * 1024 - unit / 2) {
		unit *= 1024;
		i++;
	}
	if (bytes % unit == 0 || (double)bytes / unit >= 99.95)
		snprintf(h.s, sizeof(h.s), "%s%.0f %s", sign, (double)bytes / unit, units[i]);
	else
		snprintf(h.s, sizeof(h.s), "%s%.1f %s", sign, (double)bytes / unit, units[i]);
	return h;
}

struct human human_bytes(uint64_t bytes)
{
	return scale_bytes(bytes, "");
}

struct human human_signed_bytes(int64_t bytes)
{
	if (bytes < 0)
		return scale_bytes(-(uint64_t)bytes, "-");
	return scale_bytes(bytes, bytes ? "+" : "");
}

struct human human_rate(double bytes_per_second)
{
	struct human h, bytes = scale_bytes(bytes_per_second > 0 ? (uint64_t)bytes_per_second : 0, "");

	snprintf(h.s, sizeof(h.s), "%.24s/s", bytes.s);
	return h;
}

static void group_thousands(char *to, size_t size, uint64_t count)
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);
	size_t used = 0;

	for (int i = 0; i < n && used + 2 < size; i++) {
		if (i && (n - i) % 3 == 0)
			to[used++] = ',';
		to[used++] = digits[i];
	}
	to[used] = '\0';
}

struct human human_count(uint64_t count)
{
	struct human h;

	group_thousands(h.s, sizeof(h.s), count);
	return h;
}

const char *human_plural(uint64_t count, const char *one, const char *many)
{
	return count == 1 ? one : many;
}

/* The bytes of a word, without the blank behind the word; sets *columns, of which `most` are counted. */
static size_t word_bytes(const char *word, unsigned most, unsigned *columns)
{
	size_t size = strcspn(word, " \n"), at = 0;

	for (*columns = 0; at < size && *columns < most; ++*columns) {
		size_t n = human_utf8(word + at, size - at);

		at += n ? n : 1;
	}
	return at;
}

size_t human_line(const char *text, unsigned columns, unsigned whole)
{
	size_t at = 0, pair = 0, blanks, size; /* at: behind the words that fit; pair: where two blanks follow */
	unsigned column = 0, used, room;

	for (;; at += blanks + size, column += (unsigned)blanks + used) {
		blanks = strspn(text + at, " ");
		size = word_bytes(text + at + blanks, UINT_MAX, &used);
		pair = blanks > 1 ? at : pair;
		if (!size)
			return at;
		if (column + blanks + used > columns)
			break;
	}
	if (at && used <= whole)
		return pair ? pair : at;
	room = columns > column + blanks ? columns - column - (unsigned)blanks : 0;
	if (at && !room)
		return at;
	return at + blanks + word_bytes(text + at + blanks, room ? room : 1, &used);
}

void human_wrap(char *text, unsigned columns)
{
	for (char *next; *text && *text != '\n'; text = next) {
		text += human_line(text, columns, columns);
		next = text + strspn(text, " ");
		if (next > text && *next && *next != '\n')
			*text = '\n';
	}
}

size_t human_lines(const char *text)
{
	size_t lines = 0;

	while ((text = strchr(text, '\n'))) {
		lines++;
		text++;
	}
	return lines;
}

struct human human_short(double count)
{
	static const char units[] = { 0, 'k', 'M', 'G', 'T', 'P', 'E' };
	struct human h;
	size_t i = 0;

	while (i + 1 < sizeof(units) && count >= (i ? 999.5 : 9999.5)) {
		count /= 1000;
		i++;
	}
	if (!i)
		snprintf(h.s, sizeof(h.s), "%.*f", count > 0 && count < 9.95 && count != (int)count, count);
	else
		snprintf(h.s, sizeof(h.s), "%.*f%c", count < 99.95, count, units[i]);
	return h;
}

struct human human_duration(uint64_t ns)
{
	struct human h;
	uint64_t s = (ns + NS_PER_S / 2) / NS_PER_S;

	if (ns < 999500000)
		snprintf(h.s, sizeof(h.s), "%.0f ms", ns / 1e6);
	else if (ns < 59950000000ull)
		snprintf(h.s, sizeof(h.s), "%.1f s", ns / 1e9);
	else if (s < 3600)
		snprintf(h.s, sizeof(h.s), "%um %02us", (unsigned)(s / 60), (unsigned)(s % 60));
	else if (s < 86400)
		snprintf(h.s, sizeof(h.s), "%uh %02um", (unsigned)(s / 3600), (unsigned)(s / 60 % 60));
	else
		snprintf(h.s, sizeof(h.s), "%ud %02uh", (unsigned)(s / 86400), (unsigned)(s / 3600 % 24));
	return h;
}

/* The time is in UTC, so a recording gives the same text on any machine. */
struct human human_wall(uint64_t wall_ns, const char *format)
{
	struct human h;
	time_t t = (time_t)(wall_ns / NS_PER_S);
	struct tm tm;

	if (!gmtime_r(&t, &tm) || !strftime(h.s, sizeof(h.s), format, &tm))
		snprintf(h.s, sizeof(h.s), "?");
	return h;
}

struct human human_mib(int64_t tenths, int decimals)
{
	struct human h;
	uint64_t abs = tenths < 0 ? -(uint64_t)tenths : (uint64_t)tenths;
	uint64_t whole = decimals ? abs / 10 : (abs + 5) / 10;
	size_t used = 0;

	if (tenths < 0 && (decimals || whole))
		h.s[used++] = '-';
	group_thousands(h.s + used, sizeof(h.s) - used - 2, whole);
	used = strlen(h.s);
	if (decimals)
		snprintf(h.s + used, sizeof(h.s) - used, ".%u", (unsigned)(abs % 10));
	return h;
}

/* Reads the character at the start of the text. Returns its bytes; 0: there is none. */
static size_t read_character(const char *text, size_t size, uint32_t *code)
{
	const unsigned char *p = (const unsigned char *)text;
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n;

	if (!size)
		return 0;
	*code = p[0];
	if (p[0] < 0x80)
		return 1;
	n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	if (p[0] < 0xc2 || p[0] > 0xf4 || n > size)
		return 0;
	*code &= 0x7f >> n;
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (p[i] & 0x3f);
	}
	/* Overlong forms, surrogates and numbers beyond Unicode are not UTF-8 (RFC 3629). */
	if (*code < smallest[n] || (*code >= 0xd800 && *code < 0xe000) || *code > 0x10ffff)
		return 0;
	return n;
}

size_t human_utf8(const char *text, size_t size)
{
	uint32_t code;

	return read_character(text, size, &code);
}

size_t human_is_control(const char *text, size_t size, uint32_t *code)
{
	/* Above C1: what turns the direction of the text around it (UAX #9), and what ends a line (UAX #14). */
	static const struct {
		uint32_t first, last;
	} controls[] = {
		{ 0x00, 0x1f }, { 0x7f, 0x9f },
		{ 0x61c, 0x61c }, { 0x200e, 0x200f }, { 0x2028, 0x202e }, { 0x2066, 0x2069 },
	};
	size_t n = read_character(text, size, code);

	for (size_t i = 0; n && i < COUNT(controls); i++)
		if (*code >= controls[i].first && *code <= controls[i].last)
			return n;
	return 0;
}

unsigned human_text(char *to, unsigned columns, const char *text, size_t size)
{
	size_t length = strnlen(text, size), used = 0, cut = 0;
	unsigned column = 0, dots = columns < 3 ? columns : 3;

	for (size_t i = 0; i < length; column++) {
		size_t n = human_utf8(text + i, length - i);
		uint32_t code;

		if (column == columns - dots)
			cut = used;
		if (column == columns) {
			memcpy(to + cut, "...", dots);
			to[cut + dots] = '\0';
			return columns;
		}
		if (!n || human_is_control(text + i, n, &code)) {
			to[used++] = '?';
		} else {
			memcpy(to + used, text + i, n);
			used += n;
		}
		i += n ? n : 1;
	}
	to[used] = '\0';
	return column;
}

unsigned human_print(struct out *out, unsigned columns, const char *text, size_t size)
{
	char *clean = xmalloc(4 * (size_t)columns + 4);
	unsigned used = human_text(clean, columns, text, size);

	out_text(out, clean);
	free(clean);
	return used;
}
