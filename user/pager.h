/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows long output in a pager, as git does: standard output, and standard error if that is a terminal, go to the pager
 * until pager_end(). There is no pager unless standard output is a terminal and an option permits a pager.
 *
 * The pager of root is less, in secure mode and with few variables of the environment: a sudo that permits only
 * gpumemtrace must not become a shell of root, and the pager that a variable names may be somebody else's.
 */
#ifndef GPUMEMTRACE_PAGER_H
#define GPUMEMTRACE_PAGER_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct options;

struct pager {
	pid_t pid;               /* 0: there is no pager */
	const char *command;     /* as the user gave it; NULL: less */
	int old_out, old_err;    /* -1: was not changed */
	struct sigaction old_int, old_quit;
};

/* Starts a pager if one is wanted. Standard output is a pipe from now on: decide before whether there are colours. */
void pager_start(struct pager *pager, const struct options *options);

/* Waits until the user has left the pager. err: of the output, 0 or -errno. Returns the error, but 0 if the user left
 * before the end of the output; -ENOENT, after a sentence, if the pager did not run. */
int pager_end(struct pager *pager, int err);

#endif
