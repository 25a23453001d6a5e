/* SPDX-License-Identifier: BSD-2-Clause */
/* A session's parts, put together and taken apart. */
#ifndef GPUMEMTRACE_SETUP_H
#define GPUMEMTRACE_SETUP_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "exit_codes.h"
#include "live/process/launch.h"
#include "live/nvidia/driver.h"
#include "live/features/features.h"
#include "live/stream.h"
#include "live/probe/trial.h"

#define SESSION_CAUSE 512                       /* bytes: the longest sentence */
#define SESSION_NOTE (SESSION_CAUSE + 128)      /* bytes: with its time */
#define SESSION_SAMPLE_MIN_NS 100000000ULL      /* how often NVML is asked, between these */
#define SESSION_SAMPLE_MAX_NS 1000000000ULL
#define SESSION_NAMES_NS 10000000000ULL         /* how long the end waits for the names of stacks */
#define SESSION_TICK_NS 20000000                /* how often the ring is looked at */

/* Where an event comes from; for TARGET, with the process's pidfd beside it. */
enum session_source { SESSION_RING, SESSION_WATCH, SESSION_SIGNAL, SESSION_TICK, SESSION_TARGET };
#define SESSION_EVENT(source, fd) ((uint64_t)(source) << 32 | (uint32_t)(fd))
#define SESSION_EVENT_SOURCE(event) ((enum session_source)((event)->data.u64 >> 32))
#define SESSION_EVENT_FD(event) ((int)(uint32_t)(event)->data.u64)

struct attribution;

struct session {
	const struct options *options;
	struct driver_info driver;
	struct nvml *nvml;              /* NULL: none */
	struct attach *attach;
	struct trial trial;             /* whom return probes kill here */
	struct ring_buffer *ring;
	struct stream stream;
	struct roster *roster;
	struct probing *probing;
	struct stacking *stacking;      /* NULL: no stacks */
	struct meter *meter;            /* NULL without NVML */
	struct watch *watch;            /* NULL: may not be opened */
	struct display *display;
	struct dumping *dumping;
	struct command command;
	int command_status;             /* its exit status, as the shell gives it */
	int epoll_fd, signal_fd, tick_fd;
	sigset_t old_mask;
	size_t targets_left;            /* processes named by -p that still run */
	uint64_t start_ns, deadline_ns; /* deadline 0: none */
	uint64_t next_sample_ns, next_show_ns;
	uint64_t losses[GMT_LOSS_COUNT];/* as last put into the stream */
	uint32_t marks;                 /* put into the stream */
	bool running, interrupted, recorder_warned;
	enum gmt_end_reason end;
	int output_error;               /* -errno of the first failed frame */
	char told[SESSION_CAUSE];       /* of a file that is not probed, as last said */
	char given_up[SESSION_NOTE];    /* likewise, of one that was probed: for the report; "" */
	uint32_t layers;                /* enum gmt_layer, or-ed: active */
	char why_no_kernel[128], why_no_nvml[128];
};

/* Everything but the targets; 0, or the exit status after a sentence on standard error. */
int session_setup(struct session *session, const struct options *options, struct attribution *attribution);

/* After the loop: detaches, closes the recording, reports. The exit status. */
int session_finish(struct session *session);

/* Frees whatever there is, after any of the others. */
void session_teardown(struct session *session);

/* What the options and the environment tell the checks of features.h. */
struct features_where session_where(const struct options *options);

/* For the parts of setting up: an exit status as it is with or without a command; an event source. */
int session_failure(const struct session *session, enum gmt_exit status);
int session_add_event(struct session *session, int fd, enum session_source source);   /* 0 or -errno */

/* Says why a file is not probed (err, as of probed_files.h), once: what the machine lacks, if that is the reason. */
void session_tell(struct session *session, int err, const char *cause);

#endif
