// SPDX-License-Identifier: BSD-2-Clause
/*
 * pystack PID [TID]: prints the Python frames of a thread for test_python.py, which stops the thread meanwhile; prints
 * on stderr what was found out about the process.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "pyprint.h"
#include "pywalk.h"

/* 0: it cannot be had. Leaves the thread stopped until we end. */
static uint64_t thread_pointer(pid_t tid)
{
	uint64_t tp = 0;
#ifdef __x86_64__
	struct user_regs_struct regs;
	struct iovec iov = { &regs, sizeof(regs) };
	int kind = NT_PRSTATUS;
#else
	struct iovec iov = { &tp, sizeof(tp) };
	int kind = NT_ARM_TLS;
#endif
	int status;

	if (ptrace(PTRACE_SEIZE, tid, 0, 0) || ptrace(PTRACE_INTERRUPT, tid, 0, 0) ||
	    waitpid(tid, &status, __WALL) != tid || ptrace(PTRACE_GETREGSET, tid, kind, &iov))
		return 0;
#ifdef __x86_64__
	tp = regs.fs_base;
#endif
	return tp;
}

static void print_about(const struct pyversion *python)
{
	fprintf(stderr, "version %#x runtime %#llx bias %#llx path %s key %d %d\n", python->config.version,
		(unsigned long long)python->runtime, (unsigned long long)python->bias, python->path,
		python->config.key_block, python->config.key_value);
	for (uint32_t i = 0; i < python->config.eval_count; i++)
		fprintf(stderr, "eval %#llx-%#llx\n",
			(unsigned long long)(python->config.eval[i].start - python->bias),
			(unsigned long long)(python->config.eval[i].end - python->bias));
}

int main(int argc, char **argv)
{
	static struct gmt_py_frame frames[GMT_PY_FRAMES_MAX];
	pid_t pid = argc > 1 ? (pid_t)strtol(argv[1], NULL, 10) : 0;
	pid_t tid = argc > 2 ? (pid_t)strtol(argv[2], NULL, 10) : pid;
	enum gmt_py_reason reason;
	struct pyversion python;
	size_t calls, count;
	uint64_t tp;

	if (pid <= 0 || tid <= 0) {
		fprintf(stderr, "usage: pystack PID [TID]\n");
		return 2;
	}
	pyprint_find(pid, &python);
	print_about(&python);
	tp = thread_pointer(tid);
	if (!tp) {
		perror("ptrace");
		return 4;
	}
	count = pywalk_frames(&python.config, tp, pyversion_read, &pid, frames, GMT_PY_FRAMES_MAX, &calls, &reason);
	pyprint_frames(&python, pid, frames, count);
	fprintf(stderr, "%zu frames in %zu calls: %s\n", count, calls, pyprint_reason(reason));
	return reason == GMT_PY_END_ROOT ? 0 : 1;
}
