/* SPDX-License-Identifier: BSD-2-Clause */
/* The outputs (sink/registry.c) that the options ask for, and what they show. */
#ifndef GPUMEMTRACE_OUTPUTS_H
#define GPUMEMTRACE_OUTPUTS_H

#include <stdbool.h>
#include <stdint.h>

#include "sink/sink.h"

struct attribution;
struct oom;
struct options;
struct pipeline;

/* The requested format, or else the one for people. */
const struct sink *outputs_format(const struct options *options);

/* Where the format goes: its file, or standard output, or standard error if a file or the traced command has standard
 * output. */
int outputs_fd(const struct options *options);

/* Whether the command, which inherits standard output and standard error, writes to the same file as the format. */
bool outputs_share(const struct options *options);

/* Opens options->format_path, if the format goes to a file. 0, or -errno after a sentence. */
int outputs_open_format(struct options *options);

/* Whether any requested file needs this from tracing. */
bool outputs_want(const struct options *options, enum sink_want want);

/* The pipeline that the outputs need: with a history for snapshots and dumps. pipeline_free() releases it. */
struct pipeline *outputs_pipeline(const struct options *options);

/* CLOCK_REALTIME, for what is made now. */
int64_t outputs_now(void);

/* The options, as sinks take them. */
struct sink_opts outputs_opts(const struct options *options, int fd);

/* What the report shows. */
struct view_request outputs_request(const struct options *options, struct attribution *attribution);

/* The verdict of a failed request, with the names and the history of this moment; to be freed. */
char *outputs_verdict(const struct pipeline *pipeline, const struct options *options, struct attribution *attribution,
		      const struct oom *oom);

#endif
