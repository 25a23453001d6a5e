// SPDX-License-Identifier: BSD-2-Clause
/* See cli_options.h. */
#include "cli_options.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <gpumemtrace/stackmap.h>
#include <gpumemtrace/wire.h>

#include "base/xalloc.h"
#include "cli.h"
#include "cli_values.h"

#define INTERVAL_MIN_S 0.1
#define TOP_MAX 100000
#define OOM_MAX_MAX 100000
#define RING_BYTES_MIN (64ull << 10)
#define RING_BYTES_MAX (1ull << 30)   /* libbpf maps the data twice; the map's size is 32 bits */

/* Which commands take an option. */
#define FOR_TRACE (1u << CLI_TRACE)
#define FOR_REPLAY (1u << CLI_REPLAY)
#define FOR_DOCTOR (1u << CLI_DOCTOR)
#define FOR_LIST (1u << CLI_LIST)
#define FOR_OOM (1u << CLI_OOM)
#define FOR_ALL (FOR_TRACE | FOR_REPLAY | FOR_OOM | FOR_DOCTOR | FOR_LIST)
#define FOR_REPORT (FOR_TRACE | FOR_REPLAY)
#define FOR_STACKS (FOR_REPORT | FOR_OOM)

/* ---- values ---- */

static void add_pid_option(struct options *options, pid_t pid)
{
	for (size_t i = 0; i < options->pid_count; i++)
		if (options->pids[i] == pid)
			return;
	options->pids = xreallocarray(options->pids, options->pid_count + 1, sizeof(pid));
	options->pids[options->pid_count++] = pid;
}

static int opt_pid(struct options *options, const char *argument, char **cause)
{
	const char *p = argument;

	for (;;) {
		char *end;
		long pid;

		errno = 0;
		pid = isdigit((unsigned char)*p) ? strtol(p, &end, 10) : 0;
		if (pid <= 0 || errno || pid > INT_MAX || (*end && *end != ','))
			return cli_wrong(cause, "'%s' is not a process id or a comma-separated list of them",
				     argument);
		add_pid_option(options, (pid_t)pid);
		if (!*end)
			return 0;
		p = end + 1;
	}
}

static int opt_duration(struct options *options, const char *argument, char **cause)
{
	return cli_seconds("duration", argument, 0.001, &options->duration_ns, cause);
}

static int opt_interval(struct options *options, const char *argument, char **cause)
{
	return cli_seconds("interval", argument, INTERVAL_MIN_S, &options->interval_ns, cause);
}

static int opt_ring_size(struct options *options, const char *argument, char **cause)
{
	uint64_t bytes;
	int err = cli_size("ring-size", argument, RING_BYTES_MAX, &bytes, cause);

	if (err)
		return err;
	options->ring_bytes = RING_BYTES_MIN;
	while (options->ring_bytes < bytes)
		options->ring_bytes *= 2;
	return 0;
}

static int opt_layers(struct options *options, const char *argument, char **cause)
{
	static const struct { const char *name; uint32_t layer; } layers[] = {
		{ "api", GMT_LAYER_API }, { "kernel", GMT_LAYER_KERNEL }, { "nvml", GMT_LAYER_NVML },
		{ "framework", GMT_LAYER_FRAMEWORK },
	};
	const size_t count = sizeof(layers) / sizeof(layers[0]);
	uint32_t wanted = 0;

	for (const char *p = argument; *p; p += strcspn(p, ","), p += *p == ',') {
		size_t n = strcspn(p, ","), i = 0;

		while (i < count && (strlen(layers[i].name) != n || strncmp(layers[i].name, p, n)))
			i++;
		if (i == count)
			return cli_wrong(cause, "--layers takes api, kernel, nvml and framework, not '%s'", argument);
		wanted |= layers[i].layer;
	}
	if (!wanted)
		return cli_wrong(cause, "--layers needs at least one of api, kernel, nvml and framework");
	options->layers = wanted;
	return 0;
}

static int opt_nvml(struct options *options, const char *argument, char **cause)
{
	(void)cause;
	if (!strcmp(argument, "off"))
		options->layers &= ~(uint32_t)GMT_LAYER_NVML;
	else
		options->nvml_path = argument;
	return 0;
}

static int opt_oom_dir(struct options *options, const char *argument, char **cause)
{
	(void)cause;
	options->no_oom = !strcmp(argument, "off");
	options->oom_dir = options->no_oom ? NULL : argument;
	return 0;
}

static int opt_oom_max(struct options *options, const char *argument, char **cause)
{
	return cli_count("oom-max", argument, 1, OOM_MAX_MAX, &options->oom_max, cause);
}

static int opt_libcuda(struct options *options, const char *argument, char **cause)
{
	(void)cause;
	options->libcuda = xreallocarray(options->libcuda, options->libcuda_count + 1, sizeof(argument));
	options->libcuda[options->libcuda_count++] = argument;
	return 0;
}

static int opt_stacks(struct options *options, const char *argument, char **cause)
{
	static const char *const words[] = {
#define X(name, value, text, help) [value] = text,
		GMT_STACK_MODES(X)
#undef X
	};

	for (uint32_t mode = 0; mode < GMT_STACK_MODE_COUNT; mode++) {
		if (!strcmp(argument, words[mode])) {
			options->stack_mode = mode;
			return 0;
		}
	}
	return cli_wrong(cause, "--stacks takes full, native, python, fp or off, not '%s'", argument);
}

static int opt_stack_depth(struct options *options, const char *argument, char **cause)
{
	return cli_count("stack-depth", argument, 1, GMT_UNWIND_FRAMES_MAX, &options->stack_depth, cause);
}

static int opt_stack_sample(struct options *options, const char *argument, char **cause)
{
	return cli_size("stack-sample", argument, UINT64_MAX, &options->stack_sample_bytes, cause);
}

static int opt_window(struct options *options, const char *argument, char **cause)
{
	return cli_window(argument, &options->window_events, &options->window_ns, cause);
}

/* A recording; or by its suffix a snapshot, which is what replay can write. */
static int opt_output(struct options *options, const char *argument, char **cause)
{
	const char suffix[] = ".pickle";
	size_t size = strlen(argument), end = sizeof(suffix) - 1;

	if (size > end && !strcmp(argument + size - end, suffix))
		options->snapshot = argument;
	else if (options->command != CLI_TRACE)
		return cli_wrong(cause, "'%s' writes no recording: give -o a FILE.pickle, not '%s'",
				 options->command == CLI_REPLAY ? "replay" : "oom", argument);
	else
		options->output = argument;
	return 0;
}

static int opt_owners(struct options *options, const char *argument, char **cause)
{
	(void)cause;
	options->owners = xreallocarray(options->owners, options->owners_count + 1, sizeof(argument));
	options->owners[options->owners_count++] = argument;
	return 0;
}

static int opt_top(struct options *options, const char *argument, char **cause)
{
	return cli_count("top", argument, 0, TOP_MAX, &options->top, cause);
}

static int opt_older_than(struct options *options, const char *argument, char **cause)
{
	return cli_seconds("older-than", argument, 0.001, &options->older_than_ns, cause);
}

static int opt_folded_by(struct options *options, const char *argument, char **cause)
{
	for (int order = 0; order < VIEW_ORDER_COUNT; order++) {
		if (!strcmp(argument, view_order_name((enum view_order)order))) {
			options->folded_by = (enum view_order)order;
			return 0;
		}
	}
	return cli_wrong(cause, "--folded-by takes live, peak, growth, old or allocated, not '%s'", argument);
}

static int opt_color(struct options *options, const char *argument, char **cause)
{
	static const char *const words[] = { "auto", "always", "never" };   /* enum cli_when */

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strcmp(argument, words[i])) {
			options->color = (enum cli_when)i;
			return 0;
		}
	}
	return cli_wrong(cause, "--color takes auto, always or never, not '%s'", argument);
}

/* One function for each option that only sets a member. */
#define SETTER(option, statement)                                                          \
	static int opt_##option(struct options *options, const char *argument, char **cause) \
	{                                                                                  \
		(void)argument, (void)cause;                                               \
		statement;                                                                 \
		return 0;                                                                  \
	}
SETTER(all, options->all = true)
SETTER(json, options->json = true)
SETTER(strict, options->strict = true)
SETTER(no_children, options->no_children = true)
SETTER(driver_root, options->driver_root = argument)
SETTER(quiet, options->quiet = true)
SETTER(verbose, options->verbose++)
SETTER(live, options->live = CLI_ALWAYS)
SETTER(no_live, options->live = CLI_NEVER)
SETTER(block_stacks, options->block_stacks = true)
SETTER(requested_sizes, options->requested_sizes = true)
SETTER(snapshot, options->snapshot = argument)
SETTER(folded, options->folded = argument)
SETTER(full_stacks, options->full_stacks = true)
SETTER(help, options->command = CLI_HELP)
SETTER(version, options->command = CLI_VERSION)

/* ---- the table ---- */

const struct cli_option cli_options[] = {
	{ 'p', "pid", "PID[,PID...]", FOR_TRACE, opt_pid, "trace these processes and their children; may be repeated" },
	{ 'a', "all", NULL, FOR_TRACE, opt_all, "trace every process that uses CUDA, now or later" },
	{ 'd', "duration", "SECONDS", FOR_TRACE, opt_duration, "stop tracing after this many seconds (also 5m, 2h)" },
	{ 'i', "interval", "SECONDS", FOR_TRACE, opt_interval, "time between live views; default 1" },
	{ 'o', "output", "FILE", FOR_STACKS, opt_output, "write a recording (FILE.gmt, -) or snapshot (FILE.pickle)" },
	{ 0, "json", NULL, FOR_ALL, opt_json, "print JSON: a line for each live view, a line for the report" },
	{ 0, "oom-dir", "DIR|off", FOR_TRACE, opt_oom_dir, "directory for dumps when memory runs out; default ." },
	{ 0, "oom-max", "N", FOR_TRACE, opt_oom_max, "write at most N dumps; default 16" },
	{ 0, "strict", NULL, FOR_STACKS, opt_strict, "exit with 5 if any data was lost" },
	{ 0, "no-children", NULL, FOR_TRACE, opt_no_children, "do not trace children of traced processes" },
	{ 0, "layers", "LIST", FOR_TRACE, opt_layers, "use only these layers: api,kernel,nvml,framework" },
	{ 0, "ring-size", "SIZE", FOR_TRACE, opt_ring_size, "size of the ring buffer, a power of two; default 16M" },
	{ 0, "nvml", "PATH|off", FOR_TRACE | FOR_DOCTOR, opt_nvml, "load this NVML library, or none" },
	{ 0, "libcuda", "PATH", FOR_TRACE | FOR_DOCTOR, opt_libcuda, "also probe this library" },
	{ 0, "driver-root", "DIR", FOR_TRACE | FOR_DOCTOR, opt_driver_root, "look for the driver's files below DIR" },
	{ 'q', "quiet", NULL, FOR_STACKS, opt_quiet, "print no live view, and no messages except errors" },
	{ 'v', "verbose", NULL, FOR_ALL, opt_verbose, "print more messages; may be repeated" },
	{ 0, "live", NULL, FOR_TRACE, opt_live, "show the live view even if COMMAND uses the same terminal" },
	{ 0, "no-live", NULL, FOR_TRACE, opt_no_live, "print no live view, only the report" },
	{ 0, "stacks", "MODE", FOR_TRACE, opt_stacks, "full, native, python, fp or off; default full (arm64: fp)" },
	{ 0, "stack-depth", "N", FOR_TRACE, opt_stack_depth, "native frames of a stack trace; default 512" },
	{ 0, "stack-sample", "SIZE", FOR_TRACE, opt_stack_sample,
	  "take a stack trace for each SIZE bytes that a thread allocates" },
	{ 0, "block-stacks", NULL, FOR_TRACE, opt_block_stacks,
	  "also take stack traces of PyTorch's blocks (tensors)" },
	{ 0, "requested-sizes", NULL, FOR_TRACE, opt_requested_sizes, "also read each block's requested size" },
	{ 0, "top", "N", FOR_STACKS, opt_top, "stack traces in each list of the report; default 10" },
	{ 0, "older-than", "SECONDS", FOR_REPORT, opt_older_than,
	  "list memory of this age as not freed; default 60" },
	{ 0, "full-stacks", NULL, FOR_STACKS, opt_full_stacks, "print all frames of a stack trace" },
	{ 0, "owners", "FILE", FOR_STACKS, opt_owners, "read rules that decide who owns a stack trace's memory" },
	{ 0, "folded", "FILE", FOR_REPORT, opt_folded, "write folded stack traces for flame graphs; - is stdout" },
	{ 0, "folded-by", "WHAT", FOR_REPORT, opt_folded_by, "live, peak, growth, old or allocated; default live" },
	{ 0, "snapshot", "FILE", FOR_STACKS, opt_snapshot,
	  "write a snapshot for PyTorch's memory viewers; - is stdout" },
	{ 0, "window", "HOW|off", FOR_STACKS, opt_window,
	  "newest events to keep for dumps and snapshots; default 200k" },
	{ 0, "color", "WHEN", FOR_ALL, opt_color, "auto, always or never; default auto" },
	{ 'h', "help", NULL, FOR_ALL, opt_help, "print this help" },
	{ 'V', "version", NULL, FOR_ALL, opt_version, "print the version" },
};

const size_t cli_option_count = sizeof(cli_options) / sizeof(cli_options[0]);
_Static_assert(sizeof(cli_options) / sizeof(cli_options[0]) <= CLI_OPTIONS_MAX, "room for all");
