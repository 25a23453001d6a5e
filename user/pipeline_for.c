// SPDX-License-Identifier: BSD-2-Clause
#include "pipeline_for.h"

#include "cli.h"
#include "core/pipeline/pipeline.h"
#include "outputs.h"

struct pipeline *pipeline_for(const struct options *options)
{
	bool has_files = outputs_want_history(options);
	bool has_dumps = options->command == CLI_TRACE || options->command == CLI_OOM;
	struct pipeline_options wanted = {
		.watches_requests = true,   /* the report counts them */
		.history_events = has_files || has_dumps ? options->window.events : 0,
		.history_ns = options->window.ns,
		.keeps_ended = has_files,
	};

	return pipeline_new(&wanted);
}
