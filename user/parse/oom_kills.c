// SPDX-License-Identifier: BSD-2-Clause
#include "parse/oom_kills.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VMSTAT_BYTES 16384       /* Linux 6.18's has 5000, and the row is not the last one */
#define ROW "\noom_kill "

uint64_t oom_kills(void)
{
	char text[VMSTAT_BYTES + 1], *row;
	int fd = open("/proc/vmstat", O_RDONLY | O_CLOEXEC);
	size_t size = 0;
	ssize_t got;

	if (fd < 0)
		return 0;
	while ((got = read(fd, text + size, VMSTAT_BYTES - size)) > 0)
		size += (size_t)got;
	close(fd);
	text[size] = '\0';
	row = strstr(text, ROW);
	return row ? strtoull(row + strlen(ROW), NULL, 10) : 0;
}
