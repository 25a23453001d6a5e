// SPDX-License-Identifier: BSD-2-Clause
#include "base/maps.h"

#include <errno.h>
#include <string.h>

#include "base/scan.h"

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
