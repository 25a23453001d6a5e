// SPDX-License-Identifier: BSD-2-Clause
#include "live/process/own_memory.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "live/process/procfs.h"

#define CHILDREN_BYTES 1024  /* of the list of the keeper's workers, of which each client has a few */

/* proc_pid_statm(5): all, resident, resident that shares a file; in pages. */
static uint64_t anonymous_of(const char *process)
{
	unsigned long long resident, shared;
	char path[64], text[128];

	snprintf(path, sizeof(path), "/proc/%s/statm", process);
	if (procfs_read(path, text, sizeof(text)) < 0 ||
	    sscanf(text, "%*u %llu %llu", &resident, &shared) != 2 || shared > resident)
		return 0;
	return (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

void own_memory_read(pid_t keeper, struct own_memory *memory)
{
	char path[64], children[CHILDREN_BYTES], name[16], *rest = NULL;

	*memory = (struct own_memory){ .tracer = anonymous_of("self") };
	if (!keeper)
		return;
	snprintf(name, sizeof(name), "%d", (int)keeper);
	memory->readers = anonymous_of(name);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)keeper, (int)keeper);
	if (procfs_read(path, children, sizeof(children)) < 0)
		return;
	for (char *child = strtok_r(children, " ", &rest); child; child = strtok_r(NULL, " ", &rest))
		memory->readers += anonymous_of(child);
}

/* "memlock:" in the fdinfo of a map: the pages that it takes, before Linux 6.4 estimated by its size. */
static uint64_t map_bytes(const char *number)
{
	char path[64], target[32], text[1024];
	const char *found;
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/self/fd/%.16s", number);
	length = readlink(path, target, sizeof(target) - 1);
	target[length > 0 ? length : 0] = '\0';
	if (strcmp(target, "anon_inode:bpf-map"))
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%.16s", number);
	found = procfs_read(path, text, sizeof(text)) < 0 ? NULL : strstr(text, "memlock:");
	return found ? strtoull(found + strlen("memlock:"), NULL, 10) : 0;
}

uint64_t own_memory_map(int fd)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", fd);
	return map_bytes(number);
}

uint64_t own_memory_maps(void)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;
	uint64_t bytes = 0;

	while (folder && (entry = readdir(folder)))
		if (entry->d_name[0] != '.')
			bytes += map_bytes(entry->d_name);
	if (folder)
		closedir(folder);
	return bytes;
}
