// SPDX-License-Identifier: BSD-2-Clause
/* The beginning of a session: from a look at the machine to the first records. finish.c has the end. */
#include "setup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/confine.h"
#include "base/count.h"
#include "base/for_tests.h"
#include "base/out_file.h"
#include "core/terms/frames.h"
#include "cli/cli.h"
#include "display.h"
#include "dumping.h"
#include "events.h"
#include "live/probe/attach.h"
#include "live/features/features.h"
#include "live/nvidia/inventory.h"
#include "live/nvidia/nvml_sampler.h"
#include "live/nvidia/nvml.h"
#include "live/bpf/plan.h"
#include "live/probe/holder.h"
#include "live/probe/probed_files.h"
#include "live/bpf/ring.h"
#include "live/bpf/users.h"
#include "live/process/relay.h"
#include "live/process/roster.h"
#include "live/stacks/stack_thread.h"
#include "live/probe/library_parse.h"
#include "live/probe/target.h"
#include "live/probe/uprobe.h"
#include "output_files.h"
#include "outputs.h"
#include "parse/parser.h"
#include "privileges.h"
#include "loading.h"
#include "say.h"
#include "source/recorder.h"
#include "symbol/elf/file_names.h"
#include "symbol/python/pyparse.h"
#include "symbol/unwind/table_parse.h"

static const char *driver_root(const struct session *session)
{
	return session->options->driver_root ?: "";
}

struct features_where session_where(const struct options *options)
{
	return (struct features_where){
		.root = options->driver_root ?: "",
		.nvml = options->nvml.path,
		.system = "",
		/* For tests, and for kernels whose newer interface is broken. */
		.no_uprobe_multi = secure_getenv("GPUMEMTRACE_NO_UPROBE_MULTI") != NULL,
		/* For tests: these variables imitate other kernels. */
		.return_probes = secure_getenv("GPUMEMTRACE_RETURN_PROBES_KILL"),
		.refused = secure_getenv("GPUMEMTRACE_REFUSED"),
		/* For kernels whose types are in another file, or missing. */
		.btf = secure_getenv("GPUMEMTRACE_BTF"),
	};
}

static bool tell_blocker(const struct session *session)
{
	const struct features_where where = session_where(session->options);
	struct feature blocker;
	bool found = features_blocker(&where, &blocker);

	if (found)
		say("%s: %s; %s", blocker.name, blocker.detail, blocker.remedy);
	return found;
}

void session_tell(struct session *session, int err, const char *cause)
{
	if (!*cause || !strcmp(cause, session->last_cause))
		return;
	snprintf(session->last_cause, sizeof(session->last_cause), "%s", cause);
	/* Without descriptors the machine seems to lack everything. */
	if (err == -ECANCELED || err == -ENOEXEC || target_may_pass(err) || !tell_blocker(session))
		say("%s", cause);
}

void session_limit(struct session *session, struct gmt_limit *rec)
{
	if (!session->options->quiet)
		say("%s: %s. %s", rec->what, rec->why, rec->remedy);
	STREAM_PUT(&session->stream, rec, LIMIT, 0);
}

/* ---- records from the ring ---- */

static int take_record(void *arg, void *record, size_t size)
{
	struct session *session = arg;
	const struct gmt_hdr *hdr = record;
	int next = ++session->ring_taken < SESSION_RECORDS ? 0 : -EAGAIN;

	if (size < sizeof(*hdr))
		return next;
	if (memory_refuses(&session->memory, hdr))
		return next;
	/* The copy is the target's memory, which may hold secrets: it serves stacks only and is never recorded. */
	if ((hdr->kind == GMT_KIND_STACK_COPY || hdr->kind == GMT_KIND_CODE_MAPPED) && hdr->size <= size) {
		stacking_see(session->stacking, hdr);
		return next;
	}
	roster_see(session->roster, hdr);
	/* The ring rounds sizes up to a multiple of 8; the record's own size counts. */
	stream_put(&session->stream, record, hdr->size <= size ? hdr->size : size);
	roster_seen(session->roster, hdr);
	if (hdr->size <= size)
		stacking_see(session->stacking, hdr);
	return next;
}

bool session_take_records(struct session *session)
{
	session->ring_taken = 0;
	return ring_consume(session->ring) != -EAGAIN;
}

static void drain_ring(void *arg)
{
	session_take_records(arg);
}

/* ---- the machine ---- */

static void open_nvml(struct session *session)
{
	const struct options *options = session->options;

	if (!(options->layers & GMT_LAYER_NVML) || options->nvml.is_off) {
		snprintf(session->why_no_nvml, sizeof(session->why_no_nvml), "switched off");
		return;
	}
	if (!nvml_open(options->nvml.path, driver_root(session), &session->nvml, session->why_no_nvml,
		       sizeof(session->why_no_nvml)))
		session->layers |= GMT_LAYER_NVML;
}

static void open_kernel_layer(struct session *session)
{
	char cause[SESSION_CAUSE];

	if (!(session->options->layers & GMT_LAYER_KERNEL)) {
		snprintf(session->why_no_kernel, sizeof(session->why_no_kernel), "switched off");
		return;
	}
	if (!session->driver.present) {
		snprintf(session->why_no_kernel, sizeof(session->why_no_kernel), "%s", session->driver.reason);
		return;
	}
	if (attach_ioctls(session->attach, cause, sizeof(cause))) {
		snprintf(session->why_no_kernel, sizeof(session->why_no_kernel), "%.127s", cause);
		say("the kernel layer is off: %s", cause);
		return;
	}
	session->layers |= GMT_LAYER_KERNEL;
	if (!session->driver.layout_verified)
		say("NVIDIA driver %s is newer than the drivers that this gpumemtrace was verified with; if the"
		    " numbers do not add up, use a newer gpumemtrace", session->driver.version);
}

/* Non-zero after a sentence on standard error. */
static int try_return_probes(struct session *session, const struct features_where *where)
{
	if (where->return_probes)
		trial_assume(&session->trial, where->return_probes);
	else
		trial_run(&session->trial, !where->no_uprobe_multi && uprobe_has_multi());
	/* A machine that can probe nothing could not probe our child either. */
	return session->trial.why[0] && tell_blocker(session) ? -ENOTSUP : 0;
}

static int open_ring(struct session *session)
{
	int err = ring_open(&session->ring, attach_map_fd(session->attach, "ring"), take_record, session);

	if (err)
		say("the ring buffer cannot be mapped (%s): raise the memory limit, or use a smaller --ring-size",
		    strerror(-err));
	return err;
}

static int open_attach(struct session *session)
{
	const struct options *options = session->options;
	const struct features_where where = session_where(options);
	struct attach_options attach = {
		.programs.config = {
			.trace_all = options->all,
			.self_tgid = target_pids_are_initial() ? getpid() : 0,
			.follow_children = !options->no_children,
			.nvidia_major = session->driver.nvidia_major,
			.uvm_major = session->driver.uvm_major,
			.ctl_rdev = session->driver.ctl_rdev,
			.uvm_rdev = session->driver.uvm_rdev,
			.layout = session->driver.layout,
			.stack_mode = options->stack_mode,
			.stack_depth = options->stack_depth,
			.stack_sample_bytes = options->stack_sample_bytes,
			.block_stacks = options->block_stacks || outputs_want(options, SINK_WANTS_BLOCKS),
			.user_stacks = number_for_tests("GPUMEMTRACE_USER_STACKS",
							FRAMES_IDS_MAX / GMT_USER_SHARE),
			.user_processes = number_for_tests("GPUMEMTRACE_USER_PROCESSES", GMT_TARGETS / GMT_USER_SHARE),
		},
		.programs.ring_bytes = options->ring_bytes,
		.programs.print = options->verbose ? loading_print : NULL,
		.no_uprobe_multi = where.no_uprobe_multi,
		.programs.refused = where.refused,
		.programs.btf = where.btf,
	};
	char cause[SESSION_CAUSE];
	int err;

	memcpy(attach.tracepoints, session->tracepoints, sizeof(attach.tracepoints));
	err = attach_open(&session->attach, &attach, cause, sizeof(cause));
	if (!err) {
		session->users = users_new(attach_map_fd(session->attach, "users"), attach.programs.config.user_stacks,
					   attach.programs.config.user_processes);
		err = open_ring(session);
	}
	if (!session->attach && !tell_blocker(session))
		say("%s", cause);
	if (!err && options->layers & GMT_LAYER_API)
		err = try_return_probes(session, &where);
	return err ? session_failure(session, GMT_EXIT_DENIED) : 0;
}

/* Unwinding tables of root are kept where daemons keep their caches, a user's tables in the user's own cache. */
static void cache_directory(char *path, size_t size)
{
	const char *cache = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
	const char *own = secure_getenv("GPUMEMTRACE_CACHE");

	if (own)
		snprintf(path, size, "%s", own);
	else if (!geteuid() || (!cache && !home))
		snprintf(path, size, "/var/cache/gpumemtrace");
	else if (cache)
		snprintf(path, size, "%s/gpumemtrace", cache);
	else
		snprintf(path, size, "%s/.cache/gpumemtrace", home);
}

static void open_stacking(struct session *session)
{
	char cache[4096];
	struct stacking_options options = {
		.mode = attach_plan(session->attach)->stack_mode,
		.depth = session->options->stack_depth,
		.maps = {
			.spaces = attach_map_fd(session->attach, "stack_spaces"),
			.spaces_changed = attach_spaces_changed(session->attach),
			.mapped = attach_map_fd(session->attach, "stack_mapped"),
			.mappings = attach_map_fd(session->attach, "stack_mappings"),
			.shards = attach_map_fd(session->attach, "stack_shards"),
		},
		.cache = cache,
		.parser = session->parser,
	};

	cache_directory(cache, sizeof(cache));
	session->stacking = stacking_new(&options);
}

/* ---- the first records ---- */

static void announce_session(struct session *session)
{
	struct gmt_session rec = { .layers = session->layers };
	struct timespec wall;
	struct utsname name;

	clock_gettime(CLOCK_REALTIME, &wall);
	rec.wall_ns = wall.tv_sec * 1000000000ULL + wall.tv_nsec;
	uname(&name);
	snprintf((char *)rec.version, sizeof(rec.version), "%s", GMT_VERSION);
	snprintf((char *)rec.kernel, sizeof(rec.kernel), "%.63s", name.release);
	snprintf((char *)rec.host, sizeof(rec.host), "%.63s", name.nodename);
	snprintf((char *)rec.driver, sizeof(rec.driver), "%s", session->driver.version);
	snprintf((char *)rec.why_no_kernel, sizeof(rec.why_no_kernel), "%s", session->why_no_kernel);
	snprintf((char *)rec.why_no_nvml, sizeof(rec.why_no_nvml), "%s", session->why_no_nvml);
	STREAM_PUT(&session->stream, &rec, SESSION, 0);
}

/* Limits are printed at once, and kept in the recording. */
static void put_limits(struct session *session, const struct gmt_limit *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct gmt_limit rec = list[i];

		say("%s: %s. %s", rec.what, rec.why, rec.remedy);
		STREAM_PUT(&session->stream, &rec, LIMIT, 0);
	}
}

static void put_watch_limit(struct session *session)
{
	int err = session->watch_err;
	struct gmt_limit rec = { .what = "libraries that are loaded later are not noticed" };

	if (!err)
		return;
	snprintf((char *)rec.why, sizeof(rec.why), "mappings cannot be watched by perf events: %s", strerror(-err));
	snprintf((char *)rec.remedy, sizeof(rec.remedy), "%s",
		 err == -EPERM || err == -EACCES ? "Run gpumemtrace with sudo" :
		 err == -EMFILE || err == -ENFILE ? "Raise `ulimit -n`" :
						    "Start gpumemtrace after the programs have loaded libcuda");
	put_limits(session, &rec, 1);
}

static void put_all_limits(struct session *session)
{
	const struct plan_limits *programs = attach_limits(session->attach);
	struct gmt_limit lacks[FEATURES_LIMITS_MAX];

	put_limits(session, programs->list, programs->count);
	put_limits(session, lacks, features_limits(confine_effective(), lacks));
	put_watch_limit(session);
}

static void put_inventory(struct session *session)
{
	size_t count = 0;
	const struct gmt_gpu *known = session->nvml ? nvml_gpus(session->nvml, &count) : NULL;
	struct gmt_gpu *gpus = NULL;

	if (!count)
		count = inventory_read(driver_root(session), &gpus);
	for (size_t i = 0; i < count; i++) {
		struct gmt_gpu rec = gpus ? gpus[i] : known[i];

		STREAM_PUT(&session->stream, &rec, GPU, 0);
	}
	free(gpus);
}

/* What cannot be written is said before anything is traced. The privileges are those that stay. */
static int open_outputs(struct session *session)
{
	const char *path = session->options->output;
	int err;

	if (output_files_check(session->options) ||
	    streamed_file_begin(&session->streamed, session->options, session->stream.pipeline))
		return session_failure(session, GMT_EXIT_FAILURE);
	if (!path)
		return 0;
	err = recorder_open(&session->stream.recorder, path);
	if (!err)
		return 0;
	say("cannot write %s: %s%s", path, out_file_why(err), out_file_remedy(err));
	return session_failure(session, GMT_EXIT_FAILURE);
}

/* The command waits from now on, with all that this process was given and nothing that this process does to itself. */
static int start_command(struct session *session)
{
	const struct options *options = session->options;
	struct command_output output = { .fd = -1 };
	int err = display_may_cover(options) ? relay_open(&session->relay, outputs_fd(options), &output) : 0;

	if (err)
		say("the output of %s will be drawn across the live view: no pseudo terminal: %s", options->child[0],
		    strerror(-err));
	err = command_start(&session->command, options->child, options->pipe_ignored, &output);
	if (!err)
		return 0;
	say("cannot start a process for %s: %s", options->child[0], strerror(-err));
	return GMT_EXIT_COMMAND_OURS;
}

/* What the processes that read files of targets can be asked. */
static const struct parse_table parsing_table = {
	.serve = {
		[PARSE_LIBRARY] = library_serve,
		[PARSE_POINTS] = library_serve_points,
		[PARSE_FACTS] = table_serve_facts,
		[PARSE_TABLE] = table_serve_table,
		[PARSE_EVAL] = pyparse_serve_eval,
		[PARSE_SWITCHERS] = table_serve_switchers,
		[PARSE_OPEN] = file_names_serve_open,
		[PARSE_READ] = file_names_serve_read,
		[PARSE_NAME] = file_names_serve_find,
		[PARSE_CLOSE] = file_names_serve_close,
		[PARSE_PYTHON] = pyparse_serve_python,
		[PARSE_THREADS] = pyparse_serve_threads,
	},
};

/* First of all: the child has a copy of all that this process knows. */
static int start_parser(struct session *session)
{
	int err = parser_start(&session->parser, &parsing_table);

	if (!err)
		return 0;
	say("the process that reads foreign files cannot be started: %s", strerror(-err));
	return session_failure(session, GMT_EXIT_FAILURE);
}

/* Where probes are removed one at a time, another process can wait for the kernel (holder.h). */
static void drop_privileges(struct session *session)
{
	bool multi = !session_where(session->options).no_uprobe_multi && uprobe_has_multi();
	int err = multi ? 0 : holder_start(&session->holder);

	if (err)
		say("a second signal will not end gpumemtrace at once: no process for the probes: %s", strerror(-err));
	privileges_drop(session->options, multi);
}

int session_setup(struct session *session, const struct options *options, struct attribution *attribution)
{
	int status;

	*session = (struct session){
		.options = options, .attribution = attribution, .command = { 0, -1, -1 },
		.epoll_fd = -1, .signal_fd = -1, .tick_fd = -1, .keys_fd = -1,
	};
	status = start_parser(session);
	if (status)
		return status;
	stream_init(&session->stream, outputs_pipeline(options));
	session->dumping = dumping_new(options, session->stream.pipeline);
	driver_probe(driver_root(session), &session->driver);
	status = options->child ? start_command(session) : 0;
	if (!secure_getenv("GPUMEMTRACE_NO_TRACEPOINT"))
		attach_find_tracepoints(session->tracepoints);
	if (!status)
		drop_privileges(session);
	if (!status)
		status = open_attach(session);
	if (!status)
		status = open_outputs(session);
	if (!status)
		status = events_open(session);
	if (status)
		return status;
	session->layers = options->layers & (GMT_LAYER_API | GMT_LAYER_FRAMEWORK);
	session->roster = roster_new(&session->stream);
	session->probing = probing_new(session->attach, &session->stream, session->parser, &session->trial,
				       session->layers,
				       options->requested_sizes || outputs_want(options, SINK_WANTS_BLOCKS),
				       number_for_tests("GPUMEMTRACE_UNMAPPED_MS", 0));
	session->display = display_new(options, attribution, session->relay);
	display_take_signals(session->display, session->signal_fd);
	attach_mappings(session->attach);
	open_stacking(session);
	open_nvml(session);
	open_kernel_layer(session);
	privileges_close();
	if (session->nvml)
		session->meter = meter_new(session->nvml, session->roster, &session->stream, options->all,
					   drain_ring, session);
	announce_session(session);
	put_all_limits(session);
	put_inventory(session);
	session->start_ns = session->next_sample_ns = session->next_show_ns = stream_now_ns();
	if (options->duration_ns)
		session->deadline_ns = session->start_ns + options->duration_ns;
	return 0;
}
