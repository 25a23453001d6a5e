/* SPDX-License-Identifier: BSD-2-Clause */
/* What the person at the live view does: keys, another size of the terminal, Ctrl-Z. */
#ifndef GPUMEMTRACE_INTERACT_H
#define GPUMEMTRACE_INTERACT_H

#include <stdbool.h>

#include "screen/screen.h"

struct session;

/* Whether the signal was the terminal's; then it has been obeyed. *err: the output's, 0 or -errno. */
bool interact_signal(struct session *session, int number, int *err);
/* Once a tick: takes keys as events while the screen has the terminal. */
void interact_tick(struct session *session);
/* The terminal has hung up, and would be an event for ever. */
void interact_hangup(struct session *session);
/* Obeys a few of the keys that are there, up to one that is for the session: SCREEN_MARK, SCREEN_QUIT. The rest is for
 * another call. *err: the output's, 0 or -errno. */
enum screen_action interact_key(struct session *session, int *err);

#endif
