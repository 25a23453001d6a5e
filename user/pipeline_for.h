/* SPDX-License-Identifier: BSD-2-Clause */
/* The pipeline that the options ask for. */
#ifndef GPUMEMTRACE_PIPELINE_FOR_H
#define GPUMEMTRACE_PIPELINE_FOR_H

struct options;
struct pipeline;

/* With a history where a snapshot or dumps are made of it. pipeline_free() releases it. */
struct pipeline *pipeline_for(const struct options *options);

#endif
