/* SPDX-License-Identifier: BSD-2-Clause */
/* Checkpoints of another process. The calls are what they are; nothing happens to the other process's memory. */
#include <signal.h>

#include "standin.h"

#ifndef STANDIN_OLD_EXPORTS
static CUresult is_process(int pid)
{
	return pid > 0 && !kill(pid, 0) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuCheckpointProcessLock(int pid, void *args)
{
	(void)args;
	API(is_process(pid));
}

CUresult cuCheckpointProcessCheckpoint(int pid, void *args)
{
	(void)args;
	API(is_process(pid));
}

CUresult cuCheckpointProcessRestore(int pid, void *args)
{
	(void)args;
	API(is_process(pid));
}

CUresult cuCheckpointProcessUnlock(int pid, void *args)
{
	(void)args;
	API(is_process(pid));
}
#endif
