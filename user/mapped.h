/* SPDX-License-Identifier: BSD-2-Clause */
/* The libraries that processes map during a session, as the events of their mappings come. */
#ifndef GPUMEMTRACE_MAPPED_H
#define GPUMEMTRACE_MAPPED_H

struct session;

/* Takes the events: probes what targets have mapped. After lost events a look at all targets becomes due (rescan.h). */
void mapped_read(struct session *session);

#endif
