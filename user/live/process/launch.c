// SPDX-License-Identifier: BSD-2-Clause
#include "live/process/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

enum go { GO_PLAIN = 'g', GO_WITH_OUTPUT = 'o' };

static bool replace_output(const struct command_output *output)
{
	return (!output->is_out || dup2(output->fd, STDOUT_FILENO) >= 0) &&
	       (!output->is_err || dup2(output->fd, STDERR_FILENO) >= 0);
}

static void become_command(char *const argv[], bool pipe_ignored, const struct command_output *output, int go_fd,
			   int error_fd)
{
	char byte;
	int err;

	signal(SIGPIPE, pipe_ignored ? SIG_IGN : SIG_DFL);
	/* End of file without a byte: the parent has gone or given up. */
	if (read(go_fd, &byte, 1) != 1)
		_exit(127);
	if (byte != GO_WITH_OUTPUT || replace_output(output))
		execvp(argv[0], argv);
	err = errno;
	if (write(error_fd, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

int command_start(struct command *command, char *const argv[], bool pipe_ignored, const struct command_output *output)
{
	int go[2], error[2];

	if (pipe2(go, O_CLOEXEC))
		return -errno;
	if (pipe2(error, O_CLOEXEC)) {
		int err = -errno;

		close(go[0]);
		close(go[1]);
		return err;
	}
	command->pid = fork();
	if (!command->pid) {
		close(go[1]);
		close(error[0]);
		become_command(argv, pipe_ignored, output, go[0], error[1]);
	}
	close(go[0]);
	close(error[1]);
	command->go_fd = go[1];
	command->error_fd = error[0];
	if (command->pid > 0)
		return 0;
	command->pid = 0;
	command_cancel(command);
	return -EAGAIN;
}

int command_go(struct command *command, bool takes_output)
{
	char byte = takes_output ? GO_WITH_OUTPUT : GO_PLAIN;
	int err = 0, written = write(command->go_fd, &byte, 1);

	close(command->go_fd);
	command->go_fd = -1;
	if (written != 1)
		return -EPIPE;
	/* Closed by a successful exec. */
	if (read(command->error_fd, &err, sizeof(err)) != sizeof(err))
		err = 0;
	close(command->error_fd);
	command->error_fd = -1;
	if (!err)
		return 0;
	waitpid(command->pid, NULL, 0);
	command->pid = 0;
	return -err;
}

int command_wait(struct command *command)
{
	int status;

	while (waitpid(command->pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	command->pid = 0;
	return command_status(status);
}

int command_status(int wait_status)
{
	return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

bool process_is_there(pid_t pid)
{
	return !kill(pid, 0) || errno == EPERM;
}

void command_cancel(struct command *command)
{
	bool waits = command->pid > 0 && command->go_fd >= 0;

	if (command->go_fd >= 0)
		close(command->go_fd);
	if (command->error_fd >= 0)
		close(command->error_fd);
	if (waits)
		waitpid(command->pid, NULL, 0);
	*command = (struct command){ 0, -1, -1 };
}
