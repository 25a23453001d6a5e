// SPDX-License-Identifier: BSD-2-Clause
#include "base/maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/scan.h"
#include "base/xalloc.h"

#define READ_BYTES (64u << 10)  /* at a time: a longer row is cut */
#define READ_MAX (64u << 20)    /* enough for 300,000 mappings; vm.max_map_count is 65,530 */

int maps_parse_line(const char *line, size_t len, struct maps_line *map)
{
	static const char deleted[] = " (deleted)";
	struct scan s = { line, line + len };
	uint64_t dev_major, dev_minor;
	const char *perms;

	memset(map, 0, sizeof(*map));
	if (!scan_number(&s, 16, &map->start) || !scan_char(&s, '-') ||
	    !scan_number(&s, 16, &map->end) || !scan_char(&s, ' '))
		return -EINVAL;
	perms = s.at;
	if (s.end - s.at < 5 || perms[4] != ' ')
		return -EINVAL;
	map->executable = perms[2] == 'x';
	s.at += 5;
	if (!scan_number(&s, 16, &map->offset) || !scan_char(&s, ' ') ||
	    !scan_number(&s, 16, &dev_major) || !scan_char(&s, ':') ||
	    !scan_number(&s, 16, &dev_minor) || !scan_char(&s, ' ') || !scan_number(&s, 10, &map->ino))
		return -EINVAL;
	map->dev_major = (uint32_t)dev_major;
	map->dev_minor = (uint32_t)dev_minor;
	scan_blanks(&s);
	if (s.end > s.at && s.end[-1] == '\n')
		s.end--;
	map->path = s.at;
	map->path_len = (size_t)(s.end - s.at);
	if (map->path_len >= sizeof(deleted) - 1 &&
	    !memcmp(s.end - (sizeof(deleted) - 1), deleted, sizeof(deleted) - 1)) {
		map->path_len -= sizeof(deleted) - 1;
		map->deleted = true;
	}
	return map->end > map->start ? 0 : -EINVAL;
}

/* The bytes that have been read and belong to no whole row yet. */
struct pending {
	char bytes[READ_BYTES];
	size_t used;
	bool is_rest;           /* they belong to a row that was cut, and handed over */
};

/* Hands over all rows that have ended, and one that has not if it fills the room or is the last. */
static int hand_over(struct pending *pending, bool is_last, maps_row_fn fn, void *arg)
{
	char *at = pending->bytes, *end = at + pending->used, *newline;
	int ret = 0;

	while (at < end && !ret) {
		newline = memchr(at, '\n', (size_t)(end - at));
		if (!newline && !is_last && (size_t)(end - at) < sizeof(pending->bytes))
			break;
		if (!pending->is_rest)
			ret = fn(at, (size_t)((newline ? newline : end) - at), arg);
		pending->is_rest = !newline;
		at = newline ? newline + 1 : end;
	}
	pending->used = (size_t)(end - at);
	memmove(pending->bytes, at, pending->used);
	return ret;
}

int maps_read(int fd, maps_row_fn fn, void *arg)
{
	struct pending *pending = xcalloc(1, sizeof(*pending));
	size_t all = 0;
	ssize_t got = 1;
	int ret = 0;

	while (got && !ret && all < READ_MAX) {
		got = read(fd, pending->bytes + pending->used, sizeof(pending->bytes) - pending->used);
		if (got < 0 && errno != EINTR)
			ret = -errno;
		if (got > 0) {
			pending->used += (size_t)got;
			all += (size_t)got;
		}
		if (!ret && got >= 0)
			ret = hand_over(pending, !got, fn, arg);
	}
	free(pending);
	return !ret && got ? -EFBIG : ret;
}
