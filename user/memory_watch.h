/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps gpumemtrace's own memory below the bound of --memory. It measures ten times a second, and gives up more the
 * nearer the bound is (enum gmt_shed): what can be had again first, and the counts of bytes never. If nothing is left
 * to give up, the tracing ends. Each step is a record of the stream: a replay gives the same up at the same place.
 */
#ifndef GPUMEMTRACE_MEMORY_WATCH_H
#define GPUMEMTRACE_MEMORY_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct session;

/* Measures, if it is time, and acts. False: the bound is reached, and nothing is left to give up. */
bool memory_look(struct session *session, uint64_t now_ns);
/* The last record of the session. */
void memory_end(struct session *session);

#endif
