/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared libraries compiled by a test, in a directory of its own. Needs cmocka.h before it. */
#ifndef TESTS_UNIT_COMPILE_H
#define TESTS_UNIT_COMPILE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct workdir {
	char path[64];
};

/* A shell's exit status. */
static inline int run_shell(const char *command)
{
	int status = -1;
	pid_t child = fork();

	if (!child) {
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

static inline int workdir_make(void **state)
{
	struct workdir *dir = calloc(1, sizeof(*dir));

	snprintf(dir->path, sizeof(dir->path), "/tmp/gmt-test-XXXXXX");
	if (!mkdtemp(dir->path))
		return -1;
	*state = dir;
	return 0;
}

static inline int workdir_remove(void **state)
{
	struct workdir *dir = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", dir->path);
	free(dir);
	return run_shell(command);
}

static inline void write_source(const char *path, const char *source)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(source, file);
	fclose(file);
}

/* Compiles `source` into <dir>/<name>; the path is left in `path`. */
static inline void compile_library(const struct workdir *dir, const char *name, const char *source,
				   const char *flags, char *path, size_t size)
{
	char command[1024], source_path[128];

	snprintf(source_path, sizeof(source_path), "%s/source.c", dir->path);
	write_source(source_path, source);
	snprintf(path, size, "%s/%s", dir->path, name);
	snprintf(command, sizeof(command), "cc -w -O1 -fPIC -shared %s -o %s %s", flags, path, source_path);
	assert_int_equal(run_shell(command), 0);
}

#endif
