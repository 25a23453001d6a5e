/* SPDX-License-Identifier: BSD-2-Clause */
/* A command that is started, but runs only once the probes are in place. */
#ifndef GPUMEMTRACE_LIVE_PROCESS_LAUNCH_H
#define GPUMEMTRACE_LIVE_PROCESS_LAUNCH_H

#include <signal.h>
#include <sys/types.h>

struct command {
	pid_t pid;       /* 0: none */
	int go_fd;       /* closed: go; -1 */
	int error_fd;    /* the child's errno if exec failed; -1 */
};

/* Forks. The child waits; it will run with the signal mask `mask`. 0 or -errno. */
int command_start(struct command *command, char *const argv[], const sigset_t *mask);

/* Lets it run. 0, or -errno of exec: the child is gone then. */
int command_go(struct command *command);

/* Waits for its end: its status as the shell gives it, 128 + signal if one ended it; -errno. */
int command_wait(struct command *command);
int command_status(int wait_status);   /* likewise, from wait(2)'s */

/* Ends a command that has not been let go; one that runs is left alone. */
void command_cancel(struct command *command);

#endif
