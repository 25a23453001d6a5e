// SPDX-License-Identifier: BSD-2-Clause
/*
 * Order matters: both layers are in place before a process becomes a target, so that they begin at one
 * moment, and only then the baseline is taken: nothing falls between "before attach" and "since attach".
 */
#include "setup.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "core/ledger.h"
#include "display.h"
#include "live/attach.h"
#include "live/features.h"
#include "live/inventory.h"
#include "live/meter.h"
#include "live/nvml.h"
#include "live/probing.h"
#include "live/ring.h"
#include "live/roster.h"
#include "live/target.h"
#include "live/watch.h"
#include "source/recorder.h"

void session_warn(const struct session *session, const char *format, ...)
{
	va_list args;

	(void)session;
	va_start(args, format);
	fputs("gpumemtrace: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
}

/* With a command, its exit statuses take the low numbers: ours move up, as timeout(1)'s do. */
static int failure(const struct session *session, enum gmt_exit status)
{
	return session->options->child ? GMT_EXIT_COMMAND_OURS : (int)status;
}

/* ---- records from the ring ---- */

static void take_record(void *arg, const void *record, size_t size)
{
	struct session *session = arg;
	const struct gmt_hdr *hdr = record;

	if (size < sizeof(*hdr))
		return;
	roster_see(session->roster, hdr);
	/* The ring keeps records at multiples of 8; what counts is the record's own size. */
	stream_put(&session->stream, record, hdr->size <= size ? hdr->size : size);
	roster_seen(session->roster, hdr);
}

static void drain(void *arg)
{
	struct session *session = arg;

	ring_consume(session->ring);
}

/* ---- the machine ---- */

static const char *driver_root(const struct session *session)
{
	return session->options->driver_root ?: "";
}

static void open_nvml(struct session *session)
{
	const struct options *options = session->options;

	if (!(options->layers & GMT_LAYER_NVML) ||
	    (options->nvml_path && !strcmp(options->nvml_path, "off"))) {
		snprintf(session->why_no_nvml, sizeof(session->why_no_nvml), "switched off");
		return;
	}
	if (!nvml_open(options->nvml_path, driver_root(session), &session->nvml, session->why_no_nvml,
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
		session_warn(session, "without the kernel layer: %s", cause);
		return;
	}
	session->layers |= GMT_LAYER_KERNEL;
	if (!session->driver.layout_verified)
		session_warn(session, "driver %s is newer than those this version was verified with: if numbers"
			     " do not add up, look for a newer gpumemtrace", session->driver.version);
}

static int open_attach(struct session *session)
{
	const struct options *options = session->options;
	struct attach_options attach = {
		.config = {
			.trace_all = options->all,
			.self_tgid = target_pids_are_initial() ? getpid() : 0,
			.follow_children = !options->no_children,
			.nvidia_major = session->driver.nvidia_major,
			.uvm_major = session->driver.uvm_major,
			.ctl_rdev = session->driver.ctl_rdev,
			.uvm_rdev = session->driver.uvm_rdev,
			.layout = session->driver.layout,
		},
		.ring_bytes = options->ring_bytes,
		.verbose = options->verbose > 0,
		/* For tests, and for those who meet a kernel whose newer way is broken. */
		.no_uprobe_multi = getenv("GPUMEMTRACE_NO_UPROBE_MULTI") != NULL,
		.no_tracepoint = getenv("GPUMEMTRACE_NO_TRACEPOINT") != NULL,
	};
	char cause[SESSION_CAUSE];
	struct feature blocker;
	int err;

	err = attach_open(&session->attach, &attach, cause, sizeof(cause));
	if (!err)
		err = ring_open(&session->ring, attach_ring_fd(session->attach), take_record, session);
	else if (features_blocker(&blocker))
		session_warn(session, "%s: %s; %s", blocker.name, blocker.detail, blocker.remedy);
	else
		session_warn(session, "%s", cause);
	return err ? failure(session, GMT_EXIT_DENIED) : 0;
}

/* ---- what the stream begins with ---- */

static void put_session(struct session *session)
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

static void put_inventory(struct session *session)
{
	struct gmt_gpu *gpus = NULL;
	size_t count = inventory_read(session->nvml, driver_root(session), &gpus);

	for (size_t i = 0; i < count; i++)
		STREAM_PUT(&session->stream, &gpus[i], GPU, 0);
	free(gpus);
}

static int open_recording(struct session *session)
{
	const char *path = session->options->output;
	int err;

	if (!path)
		return 0;
	err = recorder_open(&session->stream.recorder, path);
	if (!err)
		return 0;
	session_warn(session, "%s cannot be written: %s", path, strerror(-err));
	return failure(session, GMT_EXIT_FAILURE);
}

/* ---- events ---- */

static int add_event(struct session *session, int fd, enum session_source source)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = SESSION_EVENT(source, fd) };

	return epoll_ctl(session->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int open_events(struct session *session)
{
	struct itimerspec period = { .it_interval.tv_nsec = SESSION_TICK_NS, .it_value.tv_nsec = SESSION_TICK_NS };
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, &session->old_mask);
	/* A reader that has gone is an error of the write, not our end. */
	signal(SIGPIPE, SIG_IGN);
	session->signal_fd = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
	session->tick_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	session->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (session->signal_fd < 0 || session->tick_fd < 0 || session->epoll_fd < 0 ||
	    timerfd_settime(session->tick_fd, 0, &period, NULL) ||
	    add_event(session, session->signal_fd, SESSION_SIGNAL) ||
	    add_event(session, session->tick_fd, SESSION_TICK) ||
	    add_event(session, ring_epoll_fd(session->ring), SESSION_RING)) {
		session_warn(session, "events cannot be waited for: %s", strerror(errno));
		return failure(session, GMT_EXIT_FAILURE);
	}
	/* Without it a libcuda that is mapped later, of a file that is not probed yet, is missed. */
	if (watch_open(&session->watch) || add_event(session, watch_fd(session->watch), SESSION_WATCH))
		session_warn(session, "newly loaded libraries are not noticed: perf events are not allowed");
	return 0;
}

/* ---- targets ---- */

/* Whether memory may be there that no record will tell of. A stand-in's devices are those of any
 * process, so there the library has to do as a sign. */
static bool used_gpu(const struct session *session, int uses)
{
	int sign = session->driver.ctl_rdev ? TARGET_USES_LIBCUDA : TARGET_USES_DEVICE;

	return uses < 0 || uses & sign;
}

static int add_pid(struct session *session, pid_t pid)
{
	int uses = target_uses(pid, &session->driver), fd;
	char cause[SESSION_CAUSE];
	struct target_info info;

	target_inspect(pid, &info);
	fd = syscall(SYS_pidfd_open, pid, 0);
	if (info.kind != TARGET_PROCESS || fd < 0) {
		if (info.kind == TARGET_THREAD)
			session_warn(session, "pid %d is a thread of process %u: use -p %u", pid, info.tgid,
				     info.tgid);
		else
			session_warn(session, "pid %d %s", pid, info.kind == TARGET_PROCESS ?
				     "has exited" : target_kind_text(info.kind));
		return GMT_EXIT_TARGET;
	}
	if (uses >= 0 && !(uses & TARGET_USES_LIBCUDA)) {
		session_warn(session, "process %d (%.15s) has not loaded libcuda: there is nothing to see until"
			     " it does", pid, info.comm);
	} else if (probing_add_process(session->probing, pid, cause, sizeof(cause)) < 0 && !kill(pid, 0)) {
		session_warn(session, "%s", cause);
		return GMT_EXIT_DENIED;
	}
	attach_target(session->attach, pid);
	roster_add(session->roster, pid, used_gpu(session, uses));
	add_event(session, fd, SESSION_TARGET);
	session->targets_left++;
	return 0;
}

static int note_user(const struct target_library *library, void *arg)
{
	struct session *session = arg;

	if (!roster_is_live(session->roster, library->pid))
		roster_add(session->roster, library->pid,
			   used_gpu(session, target_uses(library->pid, &session->driver)));
	return 0;
}

static int add_all(struct session *session)
{
	char cause[SESSION_CAUSE];
	int err;

	err = probing_add_all(session->probing, cause, sizeof(cause));
	if (err < 0 && err != -ESRCH) {
		session_warn(session, "%s", cause);
		return GMT_EXIT_DENIED;
	}
	target_scan(note_user, session, NULL);
	attach_arm(session->attach);
	return 0;
}

static void add_library(struct session *session, const char *path)
{
	char cause[SESSION_CAUSE];

	if (probing_add(session->probing, path, path, cause, sizeof(cause)) < 0)
		session_warn(session, "%s", cause);
}

/* Where a driver root keeps libcuda, in the order of the NVIDIA container toolkit's searches. */
static void add_root_library(struct session *session)
{
	static const char *const dirs[] = {
		"/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib", "/lib64",
	};
	char path[4096];

	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
		snprintf(path, sizeof(path), "%s%s/libcuda.so.1", session->options->driver_root, dirs[i]);
		if (!access(path, R_OK)) {
			add_library(session, path);
			return;
		}
	}
}

/* The library that most programs will load, so that nothing is missed while they do. */
static void add_likely_libraries(struct session *session)
{
	const struct options *options = session->options;
	char path[4096];

	for (size_t i = 0; i < options->libcuda_count; i++)
		add_library(session, options->libcuda[i]);
	if (options->pid_count)
		return;
	if (!target_default_library(NULL, path, sizeof(path)))
		add_library(session, path);
	if (options->driver_root)
		add_root_library(session);
}

static int start_command(struct session *session)
{
	char *const *argv = session->options->child;
	int err;

	err = command_start(&session->command, argv, &session->old_mask);
	if (!err) {
		attach_target(session->attach, session->command.pid);
		err = command_go(&session->command);
	}
	if (!err) {
		roster_expect(session->roster, session->command.pid);
		return 0;
	}
	session_warn(session, "%s: %s", argv[0], strerror(-err));
	if (err == -ENOENT)
		return GMT_EXIT_COMMAND_NOT_FOUND;
	return err == -EACCES || err == -ENOEXEC ? GMT_EXIT_COMMAND_NOT_EXECUTABLE : GMT_EXIT_COMMAND_OURS;
}

static int add_targets(struct session *session)
{
	const struct options *options = session->options;
	int status = 0;

	if (!options->all && !target_pids_are_initial()) {
		session_warn(session, "this is a container with pids of its own, and the kernel reports the host's:"
			     " run gpumemtrace on the host, or in a container started with --pid=host");
		return failure(session, GMT_EXIT_DENIED);
	}
	add_likely_libraries(session);
	if (options->child)
		return start_command(session);
	if (options->all)
		status = add_all(session);
	for (size_t i = 0; !status && i < options->pid_count; i++)
		status = add_pid(session, options->pids[i]);
	if (!status)
		meter_sample(session->meter, GMT_NVML_BASELINE, false);
	return status;
}

int session_setup(struct session *session, const struct options *options)
{
	int status;

	*session = (struct session){
		.options = options, .command = { 0, -1, -1 }, .epoll_fd = -1, .signal_fd = -1, .tick_fd = -1,
	};
	session->stream.ledger = ledger_new();
	driver_probe(driver_root(session), &session->driver);
	status = open_attach(session);
	if (!status)
		status = open_recording(session);
	if (!status)
		status = open_events(session);
	if (status)
		return status;
	session->layers = options->layers & GMT_LAYER_API;
	session->roster = roster_new(&session->stream);
	session->probing = probing_new(session->attach, &session->stream, session->layers);
	session->display = display_new(options);
	open_nvml(session);
	open_kernel_layer(session);
	if (session->nvml)
		session->meter = meter_new(session->nvml, session->roster, &session->stream, options->all,
					   drain, session);
	put_session(session);
	put_inventory(session);
	session->start_ns = session->next_sample_ns = session->next_show_ns = stream_now_ns();
	if (options->duration_ns)
		session->deadline_ns = session->start_ns + options->duration_ns;
	return add_targets(session);
}

/* ---- the end ---- */

static int close_recording(struct session *session, char *note, size_t note_size)
{
	struct recorder_stats stats;
	int err;

	if (!session->stream.recorder)
		return 0;
	err = recorder_close(session->stream.recorder, &stats);
	session->stream.recorder = NULL;
	if (err && stats.lost_records)
		snprintf(note, note_size, "the recording %s is incomplete (%s): %llu records from +%.3f s on are not"
			 " in it", session->options->output, strerror(-err),
			 (unsigned long long)stats.lost_records,
			 (stats.lost_from_ns - session->start_ns) / 1e9);
	else if (err)
		snprintf(note, note_size, "the recording %s could not be closed (%s): it has all records but no"
			 " end", session->options->output, strerror(-err));
	return err;
}

int session_finish(struct session *session)
{
	const struct options *options = session->options;
	const char *notes[1];
	char note[SESSION_CAUSE] = "";
	uint64_t lost = 0;
	int err;

	attach_close(session->attach);
	session->attach = NULL;
	err = close_recording(session, note, sizeof(note));
	notes[0] = note;
	err = display_report(session->display, session->stream.ledger, notes, note[0] != '\0', &lost) ?: err;
	session->output_error = session->output_error ?: err;
	if (err && !note[0])
		session_warn(session, "the report could not be written: %s", strerror(-err));
	if (options->child)
		return session->command_status;
	if (options->strict && (lost || note[0]))
		return GMT_EXIT_LOST;
	if (err || session->output_error || session->end == SESSION_ERROR)
		return GMT_EXIT_FAILURE;
	if (options->pid_count && !roster_saw_cuda(session->roster) && !probing_count(session->probing)) {
		session_warn(session, "no traced process has used CUDA");
		return GMT_EXIT_TARGET;
	}
	return 0;
}

void session_teardown(struct session *session)
{
	command_cancel(&session->command);
	display_free(session->display);
	meter_free(session->meter);
	if (session->watch)
		watch_close(session->watch);
	ring_close(session->ring);
	attach_close(session->attach);
	if (session->stream.recorder)
		recorder_close(session->stream.recorder, NULL);
	if (session->nvml)
		nvml_close(session->nvml);
	probing_free(session->probing);
	roster_free(session->roster);
	ledger_free(session->stream.ledger);
	if (session->epoll_fd >= 0)
		close(session->epoll_fd);
	if (session->signal_fd >= 0)
		close(session->signal_fd);
	if (session->tick_fd >= 0)
		close(session->tick_fd);
}
