/* SPDX-License-Identifier: BSD-2-Clause */
/* Pieces that the formats for people share: labels, sums over a row, rates, colours. */
#ifndef GPUMEMTRACE_SINK_TEXT_TEXT_H
#define GPUMEMTRACE_SINK_TEXT_TEXT_H

#include "base/human.h"
#include "core/view/view.h"

struct out;
struct sink_opts;

/* Device memory of one row over its classes, since attach. */
struct text_sum {
	uint64_t live_count, allocs, frees, alloc_bytes, freed_bytes, failed;
};
void text_sum(const struct view_row *row, struct text_sum *sum);

/* Since the previous view. Not valid: there is none, or no time has passed. */
struct text_rate {
	bool valid;
	double bytes, calls;     /* allocated; allocations and frees; per second */
};
struct text_rate text_rate(const struct view *now, const struct view_proc *proc, const struct view_row *row,
			   const struct view *previous);

/* The same process in another view; NULL. Likewise the same GPU of a process. */
const struct view_proc *text_find_proc(const struct view *view, const struct view_proc *proc);
const struct view_row *text_find_row(const struct view *view, const struct view_proc *proc,
				     const struct view *other, const struct view_row *row);

/* "0", "0:1" (MIG instance 1 of GPU 0), "?" unknown, "ad5a" (start of the UUID: not in the inventory). */
struct human text_gpu(const struct view *view, int gpu);

/* What a row takes on its GPU: physical bytes where the kernel layer knows them. */
uint64_t text_weight(const struct view_row *row);

/* The wall clock ("10:16:12") at a time of the view, or the offset ("+72 s") if it is not known. */
struct human text_when(const struct view *view, uint64_t ts_ns);
/* "+1m 12s" since the view's start. */
struct human text_offset(const struct view *view, uint64_t ts_ns);

/* "docker 3f2a9c1b77d0", "kubernetes 3f2a9c1b77d0", "ssh.service": what a person knows a cgroup by; "" for
 * the root. At most `size` bytes. */
void text_cgroup(const char *cgroup, char *text, size_t size);

/* "exited with 0", "killed by SIGKILL" for a wait status. */
struct human text_exit(int status);

/* Whether the anomaly is what attaching late brings: memory from before, of which only the end is seen;
 * and how often it happened where that does not explain it. */
bool text_is_expected(const struct view_proc *proc, enum gmt_anomaly anomaly);
uint64_t text_odd(const struct view *view, enum gmt_anomaly anomaly);

/* "api kernel nvml": those of a session; "unknown". */
struct human text_layers(uint32_t layers);

enum text_style { TEXT_PLAIN, TEXT_BOLD, TEXT_DIM, TEXT_RED, TEXT_YELLOW, TEXT_GREEN };
/* Text in a style, which may come from anywhere. On a terminal (opts->width) it is one line without its end: cut to the
 * width, and erased up to the margin. */
void text_styled(struct out *out, const struct sink_opts *opts, enum text_style style, const char *text);
/* A whole line; takes the text out of `line`. */
void text_line(struct out *out, const struct sink_opts *opts, enum text_style style, struct out *line);
void text_format(struct out *out, const struct sink_opts *opts, enum text_style style, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif
