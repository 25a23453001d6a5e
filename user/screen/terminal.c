// SPDX-License-Identifier: BSD-2-Clause
#include "screen/terminal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/xalloc.h"

struct terminal {
	int fd, keys_fd;
	int modes_fd;                /* of which the modes are changed */
	bool has_keys;               /* false: the modes stay as they are, and keys are another program's */
	bool has_own_keys;           /* keys_fd is another descriptor than fd */
	struct termios before;
	const char *leaving;
	size_t leaving_size;
	bool is_taken;               /* atomic: terminal_rescue() is for any thread */
};

static bool is_same_terminal(int a, int b)
{
	unsigned int x, y;

	return !ioctl(a, TIOCGDEV, &x) && !ioctl(b, TIOCGDEV, &y) && x == y;
}

/* A description of our own does not share O_NONBLOCK with the shell. Only its owner may open a terminal, but each
 * process may open the terminal that controls the process. A descriptor that blocks is no way out: a terminal that is
 * stopped would stop the tracing. -1: there is no description. */
static int open_own(int fd, int access)
{
	const int flags = access | O_NOCTTY | O_NONBLOCK | O_CLOEXEC;
	char path[64];
	int own;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = open(path, flags);
	if (own >= 0)
		return own;
	own = open("/dev/tty", flags);
	if (own >= 0 && !is_same_terminal(own, fd)) {
		close(own);
		own = -1;
	}
	return own;
}

struct terminal *terminal_open(int fd, bool has_keys)
{
	struct terminal *t;
	bool reads_keys;

	if (!isatty(fd))
		return NULL;
	reads_keys = has_keys && isatty(STDIN_FILENO);
	t = xcalloc(1, sizeof(*t));
	t->keys_fd = -1;
	t->has_keys = has_keys;
	t->fd = open_own(fd, reads_keys && is_same_terminal(fd, STDIN_FILENO) ? O_RDWR : O_WRONLY);
	if (t->fd < 0) {
		free(t);
		return NULL;
	}
	if (reads_keys) {
		t->has_own_keys = !is_same_terminal(fd, STDIN_FILENO);
		t->keys_fd = t->has_own_keys ? open_own(STDIN_FILENO, O_RDONLY) : t->fd;
	}
	t->modes_fd = t->keys_fd >= 0 ? t->keys_fd : t->fd;
	return t;
}

void terminal_close(struct terminal *t)
{
	if (!t)
		return;
	terminal_give_back(t);
	if (t->has_own_keys && t->keys_fd >= 0)
		close(t->keys_fd);
	close(t->fd);
	free(t);
}

int terminal_fd(const struct terminal *t)
{
	return t->fd;
}

int terminal_keys_fd(const struct terminal *t)
{
	return t->keys_fd;
}

/* A terminal that does not control this session has no foreground. */
bool terminal_is_ours(const struct terminal *t)
{
	pid_t group = tcgetpgrp(t->modes_fd);

	return group < 0 || group == getpgrp();
}

void terminal_take(struct terminal *t, const char *leaving, size_t size)
{
	struct termios modes;

	t->leaving = leaving;
	t->leaving_size = size;
	if (!t->has_keys)
		__atomic_store_n(&t->is_taken, true, __ATOMIC_RELEASE);
	if (!t->has_keys || tcgetattr(t->modes_fd, &t->before))
		return;
	modes = t->before;
	modes.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ECHOE | ECHOK | ECHONL | IEXTEN);
	modes.c_iflag &= ~(tcflag_t)ISTRIP;
	modes.c_cc[VMIN] = 1;
	modes.c_cc[VTIME] = 0;
	/* Ctrl-\ would end the program with the screen still there. */
	modes.c_cc[VQUIT] = _POSIX_VDISABLE;
	if (!tcsetattr(t->modes_fd, TCSANOW, &modes))
		__atomic_store_n(&t->is_taken, true, __ATOMIC_RELEASE);
}

static void restore_modes(const struct terminal *t)
{
	if (!t->has_keys || !terminal_is_ours(t))
		return;
	tcflush(t->modes_fd, TCIFLUSH);
	/* Not TCSAFLUSH: that would wait for a terminal that is stopped. */
	tcsetattr(t->modes_fd, TCSANOW, &t->before);
}

void terminal_give_back(struct terminal *t)
{
	if (__atomic_exchange_n(&t->is_taken, false, __ATOMIC_ACQ_REL))
		restore_modes(t);
}

bool terminal_rescue(struct terminal *t)
{
	if (!__atomic_exchange_n(&t->is_taken, false, __ATOMIC_ACQ_REL))
		return false;
	(void)!write(t->fd, t->leaving, t->leaving_size);
	restore_modes(t);
	return true;
}
