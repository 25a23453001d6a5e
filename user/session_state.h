/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of a session. */
#ifndef GPUMEMTRACE_SESSION_STATE_H
#define GPUMEMTRACE_SESSION_STATE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/cli.h"
#include "live/probe/attach.h"
#include "live/process/identity.h"
#include "live/process/launch.h"
#include "live/nvidia/driver.h"
#include "live/stream.h"
#include "live/probe/trial.h"
#include "streamed_file.h"

#define SESSION_CAUSE 512                       /* bytes: the longest sentence */
#define SESSION_NOTE (SESSION_CAUSE + 128)      /* bytes: a cause with its time */
#define SESSION_SAMPLE_MIN_NS 100000000ULL      /* limits of the time between two questions to NVML */
#define SESSION_SAMPLE_MAX_NS 1000000000ULL
#define SESSION_TICK_NS 20000000                /* between two looks at the ring */
#define SESSION_RECORDS 16384                   /* that are taken in one go: signals and the time come in between */

/* The end of a session takes less than 2 s: these are the longest waits on the way there. A session whose targets have
 * gone waits longer for names, until a signal comes. */
#define SESSION_LAST_RECORDS_NS 300000000ULL
#define SESSION_NAMES_NS 700000000ULL
#define SESSION_NAMES_UNHURRIED_NS 10000000000ULL
#define SESSION_DUMPS_NS 300000000ULL           /* before the report, and after the report: */
#define SESSION_DUMPS_MOST_NS 10000000000ULL
#define SESSION_THREADS_NS 100000000ULL

struct attribution;
struct ending;
struct selection;

#define RESCAN_PROCESSES 64                     /* that are remembered, of those that were looked at lately */

/* Looks at processes that have mapped code (rescan.h). */
struct rescan {
	bool is_due;
	uint64_t next_ns;
	uint64_t lost;                 /* mapping events */
	uint64_t late;                 /* processes that may have used CUDA before their libcuda was probed */
	pid_t late_pid;                /* the newest of them */
	struct {
		pid_t pid;
		uint64_t next_ns;
		bool is_late;          /* a libcuda that it mapped since its look may not be probed yet */
	} recent[RESCAN_PROCESSES];
	size_t newest;
};

/* Bounds gpumemtrace's own memory (memory_watch.h). */
struct memory_watch {
	uint64_t next_ns;            /* to measure */
	uint64_t next_record_ns;
	uint64_t next_rest_ns;       /* to end readers once more */
	uint64_t next_maps_ns;
	uint64_t open_maps;          /* bytes of the BPF maps that have a descriptor; 0: unknown */
	struct gmt_memory newest;    /* what was measured last */
	uint64_t stacks;             /* that were not taken */
};

/* Stacks are no longer taken once memory is short. Counts them. */
static inline bool memory_refuses(struct memory_watch *watch, const struct gmt_hdr *record)
{
	if (watch->newest.shed < GMT_SHED_STACKS ||
	    (record->kind != GMT_KIND_STACK && record->kind != GMT_KIND_STACK_COPY))
		return false;
	watch->stacks += record->kind == GMT_KIND_STACK;
	return true;
}

struct session {
	const struct options *options;
	struct attribution *attribution;
	struct driver_info driver;
	struct nvml *nvml;              /* NULL: none */
	struct parser *parser;          /* reads files of targets */
	struct attach *attach;
	struct holder *holder;          /* NULL: the kernel removes probes at once */
	struct users *users;            /* what they have taken */
	int tracepoints[ATTACH_TRACEPOINTS]; /* attach_find_tracepoints()'s */
	struct trial trial;             /* which processes return probes kill here */
	struct ring_buffer *ring;
	struct stream stream;
	struct streamed_file streamed;
	struct identities identities;
	struct roster *roster;
	struct probing *probing;
	struct stacking *stacking;      /* NULL: no stacks */
	struct meter *meter;            /* NULL without NVML */
	struct watch *watch;            /* NULL: not permitted */
	int watch_err;                  /* -errno: mappings are not watched; 0: they are */
	struct rescan rescan;
	struct memory_watch memory;
	struct display *display;
	struct relay *relay;            /* of the command's output; NULL: the output stays the command's */
	struct dumping *dumping;
	struct command command;
	int command_status;             /* its exit status, as the shell gives it */
	struct ending *ending;          /* the signals that end the session; NULL: not open yet */
	int epoll_fd, signal_fd, tick_fd; /* signal_fd: all other signals */
	int keys_fd;                    /* of the live view, while it is a source of events; -1 */
	bool has_more_keys;             /* the descriptor need not show them: some are in memory */
	bool told_dump;                 /* why a key wrote no dump */
	sigset_t old_mask;
	struct selection *selection;    /* what the options select beside pids */
	size_t targets_left;            /* processes named by -p that still run */
	size_t grouped;                 /* processes in the selected groups, as last seen */
	uint64_t next_joining_ns;       /* to look for them */
	uint64_t start_ns, deadline_ns; /* deadline 0: none */
	uint64_t next_sample_ns, next_show_ns, next_dump_ns;
	uint64_t losses[GMT_LOSS_COUNT];/* as last put into the stream */
	uint32_t marks;                 /* how many were put into the stream */
	size_t ring_taken;              /* records in this go */
	bool running, interrupted, recorder_warned, nvml_warned, readers_warned;
	enum gmt_end_reason end;
	int output_error;               /* -errno of the first failed frame */
	char last_cause[SESSION_CAUSE]; /* why a file is not probed, as last said */
	char given_up[SESSION_NOTE];    /* why probes were removed, for the report; "" */
	uint32_t layers;                /* enum gmt_layer, or-ed: the active ones */
	char why_no_kernel[128], why_no_nvml[128];
};

/* The exit status of a failure. With a command the low exit statuses are the command's own. Ours are higher, as in
 * timeout(1). */
static inline int session_failure(const struct session *session, enum gmt_exit status)
{
	return session->options->child ? GMT_EXIT_COMMAND_OURS : (int)status;
}

#endif
