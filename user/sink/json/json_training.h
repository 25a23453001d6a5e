/* SPDX-License-Identifier: BSD-2-Clause */
/* What PyTorch's memory is for, in the JSON. Internal to the sinks. */
#ifndef GPUMEMTRACE_SINK_JSON_JSON_TRAINING_H
#define GPUMEMTRACE_SINK_JSON_JSON_TRAINING_H

#include <jansson.h>

struct view_training;

/* Adds "categories", "training", "iterations", "ranges" and "before_attach_bytes" to the object. */
void json_training_set(json_t *o, const struct view_training *t);

#endif
