/* SPDX-License-Identifier: BSD-2-Clause */
/* A view as a JSON object; user/doc/json-schema.json describes its members. */
#ifndef GPUMEMTRACE_SINK_JSON_JSON_VIEW_H
#define GPUMEMTRACE_SINK_JSON_JSON_VIEW_H

#include <jansson.h>

struct sink_opts;
struct view;

/* type: the member "type". */
json_t *json_view(const struct view *view, const struct sink_opts *opts, const char *type);

#endif
