/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions that put the parts of a session together and take them apart. */
#ifndef GPUMEMTRACE_SETUP_H
#define GPUMEMTRACE_SETUP_H

#include <stdbool.h>

#include "session_state.h"

/* Sets up everything but the targets. Returns 0, or the exit status after a sentence on standard error. */
int session_setup(struct session *session, const struct options *options, struct attribution *attribution);

/* After the loop: detaches, closes the recording, reports. Returns the exit status. */
int session_finish(struct session *session);

/* Frees the parts that there are. False: a thread is still busy with them, so the process must end by _exit(). */
bool session_teardown(struct session *session);

/* Takes the records that are in the ring, at most SESSION_RECORDS of them. False: there are more. */
bool session_take_records(struct session *session);

/* What the options and the environment tell the checks of features.h. */
struct features_where session_where(const struct options *options);

/* Says a limit that shows during the session, and keeps the limit in the recording. */
void session_limit(struct session *session, struct gmt_limit *rec);

/* Says once why a file is not probed (err: see probed_files.h), or what the machine lacks for it. */
void session_tell(struct session *session, int err, const char *cause);

#endif
