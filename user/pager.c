// SPDX-License-Identifier: BSD-2-Clause
#include "pager.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/count.h"
#include "cli/cli.h"
#include "outputs.h"
#include "say.h"

/* -F: a text that fits the screen is printed as without a pager; -R: colours; -X: the text stays on the screen. */
#define LESS_OPTIONS "-FRX"

static bool is_privileged(void)
{
	return !geteuid() || getauxval(AT_SECURE);
}

/* The path of less; NULL: there is none. Not by $PATH, which may be somebody else's. */
static const char *find_less(void)
{
	static const char *const places[] = { "/usr/bin/less", "/bin/less", "/usr/local/bin/less" };

	for (size_t i = 0; i < COUNT(places); i++)
		if (!access(places[i], X_OK))
			return places[i];
	return NULL;
}

/* What the user wants as a pager; NULL: says nothing of it. */
static const char *wanted_command(void)
{
	const char *own = getenv("GPUMEMTRACE_PAGER");

	if (is_privileged())
		return NULL;
	return own ? own : getenv("PAGER");
}

/* ---- the child ---- */

/* Forms a variable for less; false: there is none, or less would take its value for a path. */
static bool keep_variable(const char *name, char *text, size_t size)
{
	const char *value = getenv(name);

	return value && !strchr(value, '/') && (size_t)snprintf(text, size, "%s=%s", name, value) < size;
}

/* Secure mode forbids commands, other files, editors and the log; without a history file nothing is written at home. */
static void run_less_safely(const char *path)
{
	static const char *const kept[] = { "TERM", "LANG", "LC_ALL", "LC_CTYPE" };
	static char secure[] = "LESSSECURE=1", history[] = "LESSHISTFILE=-", places[] = "PATH=/usr/bin:/bin";
	static char name[] = "less", less_options[] = LESS_OPTIONS;
	char *argv[] = { name, less_options, NULL }, texts[COUNT(kept)][128];
	char *env[COUNT(kept) + 4] = { secure, history, places };
	size_t count = 3;

	for (size_t i = 0; i < COUNT(kept); i++)
		if (keep_variable(kept[i], texts[i], sizeof(texts[i])))
			env[count++] = texts[i];
	execve(path, argv, env);
}

static void run_pager(const char *command, const char *less)
{
	signal(SIGPIPE, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	if (command) {
		setenv("LESS", &LESS_OPTIONS[1], false);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	} else if (is_privileged()) {
		run_less_safely(less);
	} else {
		execl(less, "less", LESS_OPTIONS, (char *)NULL);
	}
	_exit(127);
}

/* ---- the parent ---- */

/* On a terminal that cannot move the cursor less asks for RETURN before all else. */
static bool is_dumb(const char *term)
{
	return !term || !*term || !strcmp(term, "dumb");
}

static bool is_paged(const struct options *options)
{
	return !options->no_pager && !is_dumb(getenv("TERM")) &&
	       outputs_fd(options) == STDOUT_FILENO && isatty(STDOUT_FILENO);
}

/* From here on Ctrl-C is for the pager. */
static void leave_signals(struct pager *pager)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigaction(SIGINT, &ignore, &pager->old_int);
	sigaction(SIGQUIT, &ignore, &pager->old_quit);
}

static void take_signals_back(const struct pager *pager)
{
	sigaction(SIGINT, &pager->old_int, NULL);
	sigaction(SIGQUIT, &pager->old_quit, NULL);
}

static void send_output(struct pager *pager, int to)
{
	pager->old_out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (isatty(STDERR_FILENO)) {
		pager->old_err = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
		dup2(to, STDERR_FILENO);
	}
	dup2(to, STDOUT_FILENO);
	close(to);
}

void pager_start(struct pager *pager, const struct options *options)
{
	const char *command = wanted_command(), *less = find_less();
	int ends[2];

	*pager = (struct pager){ .old_out = -1, .old_err = -1, .command = command };
	if (!is_paged(options) || (command ? !*command || !strcmp(command, "cat") : !less) || pipe2(ends, O_CLOEXEC))
		return;
	leave_signals(pager); /* first: the pager may ask for Ctrl-C at once */
	pager->pid = fork();
	if (!pager->pid) {
		dup2(ends[0], STDIN_FILENO);
		run_pager(command, less);
	}
	close(ends[0]);
	if (pager->pid < 0) {
		close(ends[1]);
		pager->pid = 0;
		take_signals_back(pager);
		return;
	}
	send_output(pager, ends[1]);
}

static void take_output_back(int old, int fd)
{
	if (old < 0)
		return;
	dup2(old, fd);
	close(old);
}

int pager_end(struct pager *pager, int err)
{
	int status = 0;

	if (!pager->pid)
		return err;
	take_output_back(pager->old_out, STDOUT_FILENO);
	take_output_back(pager->old_err, STDERR_FILENO);
	while (waitpid(pager->pid, &status, 0) < 0 && errno == EINTR)
		;
	take_signals_back(pager);
	pager->pid = 0;
	if (WIFEXITED(status) && (WEXITSTATUS(status) == 126 || WEXITSTATUS(status) == 127)) {
		say("the pager '%s' does not run; --no-pager prints without a pager", pager->command ?: "less");
		return -ENOENT;
	}
	return err == -EPIPE ? 0 : err;
}
