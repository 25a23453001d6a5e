// SPDX-License-Identifier: BSD-2-Clause
/*
 * pystack_bpf OBJECT PID: takes the Python frames of the process's threads in the kernel whenever they
 * call read(). For each thread id on stdin it prints its newest stack as pystack does, then "end", the
 * frames, the eval calls, nanoseconds and why the walk ended. Says "ready" first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "pyprint.h"
#include "python_test.h"

static struct bpf_object *load(const char *path, pid_t pid, const struct pyversion *python)
{
	struct bpf_object *object = bpf_object__open(path);
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .func_name = "read");
	struct bpf_program *program;
	struct bpf_map *rodata;
	unsigned int tgid = (unsigned int)pid, zero = 0;

	rodata = object ? bpf_object__find_map_by_name(object, ".rodata") : NULL;
	if (!rodata || bpf_map__set_initial_value(rodata, &tgid, sizeof(tgid)) || bpf_object__load(object))
		return NULL;
	program = bpf_object__find_program_by_name(object, "on_read");
	if (bpf_map_update_elem(bpf_object__find_map_fd_by_name(object, "configs"), &zero, &python->config, 0) ||
	    !bpf_program__attach_uprobe_opts(program, pid, "libc.so.6", 0, &opts))
		return NULL;
	return object;
}

int main(int argc, char **argv)
{
	static struct python_test_stack stack;
	pid_t pid = argc > 2 ? (pid_t)strtol(argv[2], NULL, 10) : 0;
	struct pyversion python;
	struct bpf_object *object;
	char line[64];
	int fd;

	if (pid <= 0) {
		fprintf(stderr, "usage: pystack_bpf OBJECT PID\n");
		return 2;
	}
	pyprint_find(pid, &python);
	object = load(argv[1], pid, &python);
	if (!object)
		return 4;
	fd = bpf_object__find_map_fd_by_name(object, "stacks");
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		unsigned int tid = (unsigned int)strtoul(line, NULL, 10);

		memset(&stack, 0, sizeof(stack));
		if (!bpf_map_lookup_elem(fd, &tid, &stack))
			pyprint_frames(&python, pid, stack.frames, stack.count);
		printf("end %u %u %u %s\n", stack.count, stack.calls, stack.nanoseconds, pyprint_reason(stack.reason));
		fflush(stdout);
	}
	bpf_object__close(object);
	return 0;
}
