/* SPDX-License-Identifier: BSD-2-Clause */
/* A command that is started at once and runs as soon as the probes are in place. */
#ifndef GPUMEMTRACE_LIVE_PROCESS_LAUNCH_H
#define GPUMEMTRACE_LIVE_PROCESS_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

struct command {
	pid_t pid;       /* 0: none */
	int go_fd;       /* closing it starts the command; -1: none */
	int error_fd;    /* gives the child's errno if exec failed; -1: none */
};

/* What the command may get instead of its standard output and standard error. */
struct command_output {
	int fd;          /* -1: nothing */
	bool is_out, is_err;
};

/* Forks a child, which waits. Call before this process changes what a child inherits: the signal mask, limits,
 * capabilities, filters. pipe_ignored: whether this process ignored SIGPIPE when it was started. 0 or -errno. */
int command_start(struct command *command, char *const argv[], bool pipe_ignored, const struct command_output *output);

/* Lets the command run, with that output or with this process's. 0, or -errno of exec: then the child is gone. */
int command_go(struct command *command, bool takes_output);

/* Waits for the command's end. Returns the status as a shell does, 128 + the number of a fatal signal; -errno. */
int command_wait(struct command *command);
int command_status(int wait_status);   /* the same from a status of wait(2) */

/* Whether there is such a process, of any user. */
bool process_is_there(pid_t pid);

/* Ends a command that still waits; a running command goes on. */
void command_cancel(struct command *command);

#endif
