/* SPDX-License-Identifier: BSD-2-Clause */
/* A view as a line of JSON; user/doc/json-schema.json describes its members. */
#ifndef GPUMEMTRACE_SINK_JSON_JSON_VIEW_H
#define GPUMEMTRACE_SINK_JSON_JSON_VIEW_H

#include <jansson.h>

/* Of views and of what is made of views: the member "schema". */
#define JSON_SCHEMA "gpumemtrace/1"

struct out;
struct sink_opts;
struct view;

/* type: the member "type". oom: the member "oom", which is taken over. */
void json_view_write(struct out *out, const struct view *view, const struct sink_opts *opts, const char *type,
		     json_t *oom);

#endif
