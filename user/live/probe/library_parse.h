/* SPDX-License-Identifier: BSD-2-Clause */
/* The places for probes in foreign libraries, found by a worker without privileges (parse/parser.h). */
#ifndef GPUMEMTRACE_LIVE_PROBE_LIBRARY_PARSE_H
#define GPUMEMTRACE_LIVE_PROBE_LIBRARY_PARSE_H

#include <stddef.h>

#include "live/probe/library.h"
#include "live/probe/usdt_notes.h"
#include "parse/client.h"

/* ---- the worker's side ---- */

int library_serve(void **state, struct parse_task *task, struct parse_answer *answer);
int library_serve_points(void **state, struct parse_task *task, struct parse_answer *answer);

/* ---- the asker's side: errors as parse_ask(), too ---- */

#define LIBRARY_POINTS 8         /* of one static probe: one, unless its function was inlined */

/* As library_open(). When a file was given up, lib->why says why. */
int library_ask(struct parse_client *client, const char *path, const struct library_kind *kind, struct library *lib);

/* As usdt_find() for the kind's point. */
int library_ask_points(struct parse_client *client, const char *path, const struct library_point *point,
		       struct usdt_place places[LIBRARY_POINTS]);

#endif
