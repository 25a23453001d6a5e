// SPDX-License-Identifier: BSD-2-Clause
/* The program: the command line chooses the command that runs. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdbool.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attribution.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "cli/cli.h"
#include "commands/commands.h"
#include "core/terms/cuda_process.h"
#include "core/terms/feature.h"
#include "display.h"
#include "live/features/features.h"
#include "live/select/cuda_list.h"
#include "output_clash.h"
#include "outputs.h"
#include "pager.h"
#include "privileges.h"
#include "say.h"
#include "session.h"
#include "setup.h"

static int run_doctor(const struct options *options, struct out *out)
{
	struct sink_opts opts = outputs_opts(options, outputs_fd(options));
	struct features_where where = session_where(options);
	struct feature features[FEATURES_MAX];
	bool missing = false;
	size_t count;

	privileges_take_up();
	count = features_probe(&where, features);
	for (size_t i = 0; i < count; i++)
		missing |= features[i].state == FEATURE_MISSING;
	outputs_format(options)->doctor(out, features, count, &opts);
	return missing ? GMT_EXIT_DENIED : GMT_EXIT_OK;
}

static int run_list(const struct options *options, struct out *out)
{
	struct sink_opts opts = outputs_opts(options, STDOUT_FILENO);
	const struct sink *format = outputs_format(options);
	struct pager pager;
	int err;

	pager_start(&pager, options);
	format->list(out, &opts);
	err = pager_end(&pager, out_flush(out));
	out->error = err == -ENOENT ? 0 : err;
	return err ? GMT_EXIT_FAILURE : GMT_EXIT_OK;
}

static int run_ps(const struct options *options, struct out *out)
{
	struct sink_opts opts = outputs_opts(options, STDOUT_FILENO);
	struct cuda_processes processes;
	int err;

	privileges_take_up();
	err = cuda_list_open(&processes, options->nvml.path, options->driver_root ?: "", options->nvml.is_off);
	if (err)
		say("/proc cannot be read: %s", strerror(-err));
	else
		outputs_format(options)->processes(out, &processes, &opts);
	cuda_list_close(&processes);
	return err ? GMT_EXIT_DENIED : GMT_EXIT_OK;
}

/* The commands that say whose memory a stack is. A file of rules with an error ends the command before it begins. */
static int run_with_owners(const struct options *options)
{
	char why[512];
	struct attribution *attribution = attribution_new(options, why, sizeof(why));
	int status;

	if (!attribution) {
		say("%s", why);
		return options->child ? GMT_EXIT_COMMAND_OURS : GMT_EXIT_FAILURE;
	}
	if (options->command == CLI_TRACE) {
		privileges_take_up();
		status = session_run(options, attribution);
	} else if (options->command == CLI_REPORT) {
		status = options->more.count ? ranks_run(options, attribution) : replay_run(options, attribution);
	} else if (options->command == CLI_DIFF) {
		status = diff_run(options, attribution);
	} else {
		status = oom_run(options, attribution);
	}
	attribution_free(attribution);
	return status;
}

static bool reads_recording(enum cli_command command)
{
	return command == CLI_REPORT || command == CLI_OOM || command == CLI_DIFF ||
	       command == CLI_RECORDS;
}

static int run_command(const struct options *options, struct out *out)
{
	/* A recording may come from anybody, and may ask for any amount of memory. */
	if (reads_recording(options->command) && xalloc_bound(options->memory_bytes) && options->verbose)
		say("--memory has no effect: the memory of this process cannot be measured or bounded");
	switch (options->command) {
	case CLI_TRACE:
	case CLI_TOP:
	case CLI_REPORT:
	case CLI_OOM:
	case CLI_DIFF:
		return run_with_owners(options);
	case CLI_RECORDS:
		return records_run(options);
	case CLI_DOCTOR:
		return run_doctor(options, out);
	case CLI_PS:
		return run_ps(options, out);
	case CLI_LIST:
		return run_list(options, out);
	case CLI_HELP:
		cli_help(out, options);
		return GMT_EXIT_OK;
	case CLI_VERSION:
		out_text(out, "gpumemtrace " GMT_VERSION "\n");
		return GMT_EXIT_OK;
	}
	return GMT_EXIT_FAILURE;
}

/* Whoever runs a file with capabilities must not choose the code that runs with them. */
static int run_trusted(const struct options *options, struct out *out, bool is_lent)
{
	const char *dangerous = is_lent ? privileges_dangerous_option(options) : NULL;

	if (!dangerous)
		return run_command(options, out);
	say("%s chooses code that gpumemtrace loads or files that it trusts, and the privileges come from capabilities"
	    " on gpumemtrace's file: use sudo", dangerous);
	return options->child ? GMT_EXIT_COMMAND_OURS : GMT_EXIT_DENIED;
}

/* When memory runs out. What was said on a screen is gone with the screen, so it is said again. */
static void leave_screen(void)
{
	if (!display_rescue())
		return;
	xalloc_tell();
	say_release();
}

/* The low exit statuses are the command's own. */
static void fail_beside_command(void)
{
	_exit(GMT_EXIT_COMMAND_OURS);
}

/* Runs what the command line asks for. Returns the exit status. */
static int run_parsed(struct options *options, bool is_lent)
{
	struct out out;
	int status, err;

	if (options->child)
		at_quick_exit(fail_beside_command);
	at_quick_exit(leave_screen);
	if (output_clash(options))
		return options->child ? GMT_EXIT_COMMAND_OURS : GMT_EXIT_USAGE;
	if (outputs_open_format(options))
		return options->child ? GMT_EXIT_COMMAND_OURS : GMT_EXIT_FAILURE;
	out_init_fd(&out, options->format_fd ? options->format_fd : STDOUT_FILENO);
	status = run_trusted(options, &out, is_lent);
	err = out_close(&out);
	if (err) {
		say("cannot write the output: %s", strerror(-err));
		status = status ?: GMT_EXIT_FAILURE;
	}
	return status;
}

/*
 * Memory that is freed goes back to the kernel. By default each thread has an arena of its own, and the size from which
 * a block is a mapping of its own grows with each such block that is freed: what parsing a large library took would
 * stay for months.
 */
#define ARENAS 2                     /* the session's, and one for all other threads */
#define OWN_MAPPING_BYTES (128 << 10)

static void set_allocator(void)
{
	mallopt(M_ARENA_MAX, ARENAS);
	mallopt(M_MMAP_THRESHOLD, OWN_MAPPING_BYTES);
	mallopt(M_TRIM_THRESHOLD, OWN_MAPPING_BYTES);
}

/* A file that got the number of a closed standard descriptor would take messages for its contents. */
static void fill_descriptors(void)
{
	int fd;

	while ((fd = open("/dev/null", O_RDWR | O_CLOEXEC)) >= 0 && fd <= STDERR_FILENO)
		fcntl(fd, F_SETFD, 0);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	struct options options;
	char *cause = NULL;
	bool pipe_ignored, is_lent = privileges_lay_aside();
	int status;

	fill_descriptors();
	set_allocator();
	/* A reader that has gone makes a write fail; the signal would end the program. */
	pipe_ignored = signal(SIGPIPE, SIG_IGN) == SIG_IGN;
	status = cli_parse(&options, argc, argv, &cause);
	options.pipe_ignored = pipe_ignored;
	if (status) {
		say("%s", cause);
		free(cause);
	} else {
		status = run_parsed(&options, is_lent);
	}
	options_free(&options);
	return status;
}
