/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads text that ends at a pointer, not at a NUL, such as text from /proc. No read passes the end. */
#ifndef GPUMEMTRACE_BASE_SCAN_H
#define GPUMEMTRACE_BASE_SCAN_H

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct scan {
	const char *at, *end;
};

/* Reads digits of a base up to 16. False: there is no digit, or the number has more than 64 bits. */
static inline bool scan_number(struct scan *s, unsigned int base, uint64_t *value)
{
	uint64_t sum = 0;
	const char *start = s->at;

	for (; s->at < s->end; s->at++) {
		int ch = tolower((unsigned char)*s->at);
		unsigned int digit = base;

		if (isdigit(ch))
			digit = (unsigned int)(ch - '0');
		else if (ch >= 'a' && ch <= 'f')
			digit = (unsigned int)(ch - 'a') + 10;
		if (digit >= base)
			break;
		if (sum > (UINT64_MAX - digit) / base)
			return false;
		sum = sum * base + digit;
	}
	*value = sum;
	return s->at > start;
}

static inline bool scan_char(struct scan *s, char wanted)
{
	if (s->at >= s->end || *s->at != wanted)
		return false;
	s->at++;
	return true;
}

static inline void scan_blanks(struct scan *s)
{
	while (s->at < s->end && (*s->at == ' ' || *s->at == '\t'))
		s->at++;
}

/* Takes the next line, without its newline, which the last line may lack. False at the end. */
static inline bool scan_line(struct scan *s, struct scan *line)
{
	const char *newline;

	if (s->at >= s->end)
		return false;
	newline = memchr(s->at, '\n', (size_t)(s->end - s->at));
	*line = (struct scan){ s->at, newline ? newline : s->end };
	s->at = newline ? newline + 1 : s->end;
	return true;
}

#endif
