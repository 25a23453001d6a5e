/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * forks fork|exec|both: a process with children. "fork": the parent has not touched CUDA, the child uses CUDA. "exec":
 * the parent uses CUDA, its child cannot (and says so), a grandchild runs another program. Parent and child hold
 * different amounts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wl_common.h"

static int wait_for(pid_t child)
{
	int status = -1;

	waitpid(child, &status, 0);
	return status;
}

static void use(uint64_t bytes)
{
	CUcontext ctx;

	wl_start();
	CU(cuDevicePrimaryCtxRetain(&ctx, 0));
	CU(cuCtxSetCurrent(ctx));
	wl_mem(0, bytes);
}

static void only_child(void)
{
	pid_t child = fork();

	if (!child) {
		use(13 * MIB);
		wl_phase("child");
		wl_report();
		exit(0);
	}
	printf("child_status=%d\n", wait_for(child));
}

static void exec_child(const char *program)
{
	CUdeviceptr p;
	pid_t child;

	use(17 * MIB);
	fflush(NULL);
	child = fork();
	if (!child) {
		CU_FAILS(cuMemAlloc_v2(&p, 1 * MIB), CUDA_ERROR_NOT_INITIALIZED);
		execl(program, "basic", "1", (char *)NULL);
		_exit(72);
	}
	printf("child_status=%d\n", wait_for(child));
	wl_mem(0, 19 * MIB);
	wl_phase("end");
	wl_report();
}

int main(int argc, char **argv)
{
	char program[4096];
	char *slash;

	setvbuf(stdout, NULL, _IOLBF, 0);
	snprintf(program, sizeof(program), "%s", argv[0]);
	slash = strrchr(program, '/');
	snprintf(slash ? slash + 1 : program, 16, "basic");
	if (argc > 1 && !strcmp(argv[1], "fork"))
		only_child();
	else
		exec_child(program);
	return 0;
}
