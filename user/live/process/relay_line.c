// SPDX-License-Identifier: BSD-2-Clause
#include "live/process/relay_line.h"

#include <string.h>

#define ESCAPE '\x1b'
#define BELL '\a'

static bool ends_line(char c)
{
	return c == '\n' || c == '\r';
}

/* ECMA-48: a control sequence ends with a byte from '@' to '~'. xterm: the title and its like end with BEL or ESC \;
 * the choice of a character set takes three bytes. */
static size_t skip_escape(const char *text, size_t size)
{
	size_t i = 2;

	if (size < 2)
		return size;
	if (text[1] == '[') {
		while (i < size && (text[i] < '@' || text[i] > '~'))
			i++;
		return i < size ? i + 1 : size;
	}
	if (text[1] == '(' || text[1] == ')')
		return size < 3 ? size : 3;
	if (text[1] != ']')
		return i;
	while (i < size && text[i] != BELL && text[i] != ESCAPE)
		i++;
	if (i < size && text[i] == ESCAPE)
		i++;
	return i < size ? i + 1 : size;
}

/* Returns whether the line has more than blanks. */
static bool copy_line(const char *line, size_t size, char *to, size_t room)
{
	bool has_text = false;
	size_t used = 0;

	for (size_t i = 0; i < size; i++) {
		if (line[i] == ESCAPE) {
			i += skip_escape(line + i, size - i) - 1;
			continue;
		}
		if (used + 1 < room)
			to[used++] = line[i] == '\t' || !line[i] ? ' ' : line[i];
		has_text |= line[i] != ' ' && line[i] != '\t' && line[i];
	}
	to[used] = '\0';
	return has_text;
}

bool relay_last_line(const char *text, size_t size, char *to, size_t room)
{
	while (size) {
		size_t begin = size;

		while (begin && !ends_line(text[begin - 1]))
			begin--;
		if (copy_line(text + begin, size - begin, to, room))
			return true;
		size = begin ? begin - 1 : 0;
	}
	return false;
}
