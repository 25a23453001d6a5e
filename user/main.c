// SPDX-License-Identifier: BSD-2-Clause
/* Composes: the command line chooses what runs. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/out.h"
#include "cli.h"
#include "core/feature.h"
#include "live/features.h"
#include "replay.h"
#include "session.h"
#include "sink/sink.h"

static int run_doctor(const struct options *options, struct out *out)
{
	struct sink_opts opts = { .color = cli_use_color(options, isatty(STDOUT_FILENO)) };
	struct features_where where = { options->driver_root ?: "", options->nvml_path };
	struct feature features[FEATURES_MAX];
	size_t count = features_probe(&where, features);
	bool missing = false;

	for (size_t i = 0; i < count; i++)
		missing |= features[i].state == FEATURE_MISSING;
	if (options->json)
		doctor_print_json(out, features, count);
	else
		doctor_print(out, features, count, &opts);
	return missing ? GMT_EXIT_DENIED : GMT_EXIT_OK;
}

static int run_list(const struct options *options, struct out *out)
{
	struct sink_opts opts = { .color = cli_use_color(options, isatty(STDOUT_FILENO)) };

	if (options->json)
		list_print_json(out);
	else
		list_print(out, &opts);
	return GMT_EXIT_OK;
}

static int run(const struct options *options, struct out *out)
{
	switch (options->command) {
	case CLI_TRACE:
		return session_run(options);
	case CLI_REPLAY:
		return replay_run(options);
	case CLI_DOCTOR:
		return run_doctor(options, out);
	case CLI_LIST:
		return run_list(options, out);
	case CLI_HELP:
		cli_help(out);
		return GMT_EXIT_OK;
	case CLI_VERSION:
		cli_version(out);
		return GMT_EXIT_OK;
	}
	return GMT_EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	struct options options;
	char *cause = NULL;
	struct out out;
	int status;

	status = cli_parse(&options, argc, argv, &cause);
	if (status) {
		fprintf(stderr, "gpumemtrace: %s\n", cause);
		free(cause);
	} else {
		out_init_fd(&out, STDOUT_FILENO);
		status = run(&options, &out);
		if (out_close(&out) && !status)
			status = GMT_EXIT_FAILURE;
	}
	options_free(&options);
	return status;
}
